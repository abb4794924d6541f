{#- The transactions that the project goes on without, as text. -#}
{% macro _given_up() %}
    {% set given = var('cdc_give_up_transactions', none) or [] %}
    {% do dbt_cdc._check_is_list('cdc_give_up_transactions', given, '"' ~ given ~ '"') %}
    {% set names = [] %}
    {% for name in given %}
        {#- without quotes, YAML reads a SQL Server LSN as a number: below are xids, above change_seqs of DMS -#}
        {% do names.append(dbt_cdc._lsn_text(name) if name is integer and 2 ** 48 <= name < 2 ** 80
            else name | string) %}
    {% endfor %}
    {% do return(names) %}
{% endmacro %}


{#- What an error says of more transactions to go on without: the variable takes the place of the one that is given. -#}
{% macro _give_up(names) %}
    {% do return('vars: {cdc_give_up_transactions: ' ~ tojson(dbt_cdc._given_up() + names) ~ '}') %}
{% endmacro %}


{#- What an error says where a transaction cannot be taken in as it has landed; `mend` is what to do first. -#}
{% macro _give_up_advice(mend) %}
    {% do return(
        'nothing of this batch is in the log; ' ~ mend ~ ' and run again; where they never come, give the transaction '
        ~ 'up by ' ~ dbt_cdc._give_up(['...']) ~ ' and its name: none of its changes is captured'
    ) %}
{% endmacro %}


{#- Whether a transaction is one of them: by `name` (SQL), else by xid:commit number and, but where several have it, by
    xid. -#}
{% macro _is_given_up(name=none, shares_xid=none) -%}
{%- set names = dbt_cdc._literals(dbt_cdc._given_up()) -%}
{{ 'false' if not names
    else name ~ ' in (' ~ names ~ ')' if name
    else '(xid in (' ~ names ~ ')' ~ (' and not ' ~ shares_xid if shares_xid)
        ~ " or concat_ws(':', xid, commit_number) in (" ~ names ~ '))' }}
{%- endmacro %}
