{#- Snapshots after the first: what a connector reads anew where it may have missed changes. Each is compared with the
    tables as the log has them at its LSN. Where they differ the user chooses (var cdc_later_snapshots): the differences
    become a transaction, or the tables begin anew; else they stop the log. Only for a batch that has such rows. -#}
{% macro _debezium_check_later_snapshots(events, batch, before_images) %}
    {% set choice = dbt_cdc._debezium_later_snapshots_choice() %}
    {% if choice == 'compare' %}
        {% set found = dbt_cdc._fetch(dbt_cdc._debezium_snapshot_differences(events, batch, before_images)) %}
        {% set tables = [] %}
        {% for row in found %}
            {% set counts = [] %}
            {% for name, what in {
                'missing': 'missing in the log', 'other': 'other in the log', 'extra': 'in the log alone'
            }.items() if row[name] %}
                {% do counts.append(row[name] ~ ' ' ~ what) %}
            {% endfor %}
            {% do tables.append(row.source_schema ~ '.' ~ row.source_name ~ ' (' ~ counts | join(', ') ~ ')') %}
        {% endfor %}
        {% if found %}
            {% do dbt_cdc.raise_cdc_error(
                22859,
                'a later snapshot of the source, at ' ~ found[0].snapshot_lsn ~ ', has other rows than the tables by the '
                ~ 'log: ' ~ tables | join(', '),
                'changes were missed, and nothing of this batch is in the log; to take the differences in as one '
                ~ 'transaction, give vars: {cdc_later_snapshots: take}; to begin these tables anew, as after a TRUNCATE, '
                ~ 'vars: {cdc_later_snapshots: anew}; to go on without the snapshot, vars: {cdc_give_up_transactions: ["'
                ~ found[0].name ~ '"]}'
            ) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{% macro _debezium_later_snapshots_choice() %}
    {% set choice = var('cdc_later_snapshots', 'compare') %}
    {% if choice not in ['compare', 'take', 'anew'] %}
        {% do dbt_cdc.raise_cdc_error(
            22963, "var cdc_later_snapshots is '" ~ choice ~ "'", "give 'compare', 'take' or 'anew'"
        ) %}
    {% endif %}
    {% do return(choice) %}
{% endmacro %}


{#- By table how many rows of a later snapshot the log lacks, has otherwise, or has alone. -#}
{% macro _debezium_snapshot_differences(events, batch, before_images) -%}
with {{ dbt_cdc._debezium_events(events, batch, before_images) }},

{{ dbt_cdc._debezium_owners(batch) }},

{{ dbt_cdc._debezium_transactions(batch) }},

{{ dbt_cdc._debezium_changes() }},

{{ dbt_cdc._debezium_records(batch) }},

{{ dbt_cdc._debezium_differences(batch) }}

select
    concat('snapshot:', commit_number) as name,
    concat('0x', lpad(hex(commit_number), 14, '0'), '000000') as snapshot_lsn,
    source_schema,
    source_name,
    count_if(operation = 'INSERT') as missing,
    count_if(operation = 'UPDATE') as other,
    count_if(operation = 'DELETE') as extra
from differences
group by commit_number, source_schema, source_name
order by commit_number, source_schema, source_name
{%- endmacro %}


{#- CTE `differences`: what makes each table by the log at a later snapshot's LSN that snapshot: (commit_number,
    operation, source_schema, source_name, before, after, encodings, position). Rows are told apart by the message key;
    without one they are counted. A column that the log's image lacks is no difference. -#}
{% macro _debezium_differences(batch) -%}
later_rows as (
    select
        *,
        from_json(after, 'map<string,string>') as image
    from (
        select
            owned.*,
            json_object_keys(snapshot_key) as key_columns,
            row_number() over (partition by owned.commit_number, snapshot_row order by position) as copy_number
        from owned
        inner join emitted_transactions
            on
                is_later
                and owned.xid = emitted_transactions.xid
                and owned.commit_number = emitted_transactions.commit_number
    )
    where copy_number = 1
),

-- a message key that two rows share is no key
later_tables as (
    select
        commit_number,
        source_schema,
        source_name,
        if(count(*) = count(distinct snapshot_key), max(key_columns), null) as key_columns
    from later_rows
    group by commit_number, source_schema, source_name
),

changed as (
    select lsn, operation, source_schema, source_name, before_image, after_image, encodings
    from first_records
    {%- if batch.is_incremental %}
    union all
    select lsn, operation, source_schema, source_name, before_image, after_image, encodings
    from {{ batch.log }}
    {%- endif %}
),

-- each record takes its before image away and brings its after image
steps as (
    select
        later_tables.*,
        lsn,
        encodings,
        step.*,
        from_json(step.image_text, 'map<string,string>') as image
    from changed
    inner join later_tables using (source_schema, source_name)
    lateral view explode(array(
        named_struct('brings', false, 'image_text', before_image),
        named_struct('brings', true, 'image_text', after_image)
    )) exploded as step
    where
        lsn < concat('0x', lpad(hex(commit_number), 14, '0'), '000000')
        and step.image_text is not null
),

last_truncates as (
    select
        commit_number,
        source_schema,
        source_name,
        max(lsn) as truncate_lsn
    from changed
    inner join later_tables using (source_schema, source_name)
    where
        operation = 'TRUNCATE'
        and lsn < concat('0x', lpad(hex(commit_number), 14, '0'), '000000')
    group by commit_number, source_schema, source_name
),

identified as (
    select
        steps.* except (key_columns),
        -- without a key a row is its image
        if(key_columns is null, array(image_text), transform(key_columns, name -> image[name])) as row_key,
        key_columns is not null as has_key
    from steps
    left join last_truncates using (commit_number, source_schema, source_name)
    where coalesce(lsn > truncate_lsn, true)
),

by_the_log as (
    select
        commit_number,
        source_schema,
        source_name,
        row_key,
        has_key,
        max_by(image_text, struct(lsn, brings)) as image_text,
        max_by(image, struct(lsn, brings)) as image,
        max_by(encodings, struct(lsn, brings)) as logged_encodings,
        if(
            has_key, if(max_by(brings, struct(lsn, brings)), 1, 0), sum(if(brings, 1, -1))
        ) as row_count
    from identified
    group by commit_number, source_schema, source_name, row_key, has_key
),

by_the_snapshot as (
    select
        commit_number,
        source_schema,
        source_name,
        if(
            later_tables.key_columns is null, array(after),
            transform(later_tables.key_columns, name -> image[name])
        ) as row_key,
        max(after) as after,
        max_by(image, position) as snapshot_image,
        max(encodings) as encodings,
        min(position) as position,
        count(*) as snapshot_count
    from later_rows
    inner join later_tables using (commit_number, source_schema, source_name)
    group by 1, 2, 3, 4
),

compared as (
    select
        commit_number,
        source_schema,
        source_name,
        image_text as before,
        after,
        coalesce(encodings, logged_encodings) as encodings,
        position,
        coalesce(row_count, 0) as row_count,
        coalesce(snapshot_count, 0) as snapshot_count,
        exists(map_keys(image), name -> not image[name] <=> snapshot_image[name]) as is_other
    from by_the_log
    full outer join by_the_snapshot using (commit_number, source_schema, source_name, row_key)
),

differences as (
    select
        commit_number,
        source_schema,
        source_name,
        difference.*,
        encodings,
        position
    from compared
    lateral view explode(case
        when row_count > snapshot_count
            then array_repeat(named_struct('operation', 'DELETE', 'before', before, 'after', cast(null as string)),
                cast(row_count - snapshot_count as int))
        when row_count < snapshot_count
            then array_repeat(named_struct('operation', 'INSERT', 'before', cast(null as string), 'after', after),
                cast(snapshot_count - row_count as int))
        when row_count = 1 and is_other
            then array(named_struct('operation', 'UPDATE', 'before', before, 'after', after))
    end) exploded as difference
)
{%- endmacro %}


{#- CTE `records`: those of the transactions, and a transaction for each later snapshot, of the differences or of all its
    rows behind a TRUNCATE. Of a snapshot that is compared only BEGIN and COMMIT are left: then it counts as read. -#}
{% macro _debezium_later_records(batch) -%}
{%- set choice = dbt_cdc._debezium_later_snapshots_choice() -%}
{{ dbt_cdc._debezium_differences(batch) }},

later_changes as (
    {%- if choice == 'anew' %}
    select
        commit_number,
        'TRUNCATE' as operation,
        source_schema,
        source_name,
        cast(null as string) as before,
        cast(null as string) as after,
        cast(null as string) as encodings,
        min(position) as position,
        0 as step
    from later_rows
    group by commit_number, source_schema, source_name
    union all
    select commit_number, 'INSERT', source_schema, source_name, null, after, encodings, position, 1
    from later_rows
    {%- else %}
    select
        *,
        if(operation = 'DELETE', 0, 1) as step
    from differences
    {{- '\n    where false' if choice == 'compare' }}
    {%- endif %}
),

later_operations as (
    select
        *,
        row_number() over (
            partition by commit_number
            order by step, source_schema, source_name, position, before, after
        ) as ordinal
    from (
        select * from later_changes
        union all
        select commit_number, 'BEGIN', null, null, null, null, null, first_position, -1
        from emitted_transactions
        where is_later
        union all
        select commit_number, 'COMMIT', null, null, null, null, null, last_position, 2
        from emitted_transactions
        where is_later
    )
),

later_records as (
    select
        case
            when operation = 'COMMIT' then concat('0x', lpad(hex(commit_number), 14, '0'), '000000')
            else concat(
                '0x', lpad(hex(previous_commit + ordinal div {{ 2 ** 24 }}), 14, '0'),
                lpad(hex(ordinal % {{ 2 ** 24 }}), 6, '0')
            )
        end as lsn,
        'snapshot' as tran_id,
        operation,
        commit_time as record_time,
        source_schema,
        source_name,
        before as before_image,
        after as after_image,
        cast(null as string) as ddl_command,
        cast(null as int) as command_id,
        encodings,
        if(operation in ('BEGIN', 'COMMIT'), null, commit_number - 1) as source_lsn,
        {%- set database = dbt_cdc._literal(batch.database) if batch.database else 'cast(null as string)' %}
        case when operation = 'COMMIT' then {{ database }} end as source_database,
        cast(null as bigint) as events,
        case when operation = 'COMMIT' then balance end as balance,
        position,
        resume_position
    from later_operations
    inner join emitted_transactions using (commit_number)
),

records as (
    select * from first_records
    union all
    select * from later_records
)
{%- endmacro %}
