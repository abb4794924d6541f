{#- Snapshots after the first: what a connector reads anew where it may have missed changes. Each is compared with the
    tables as the log has them at its LSN. Where they differ the user chooses (var cdc_later_snapshots): the differences
    become a transaction, or the tables begin anew; else they stop the log. Only for a batch that has such rows. What
    committed at or below the LSN and is sent behind the rows, `is_beside`, they may lack: it counts, by the key. -#}
{% macro _debezium_check_later_snapshots(events, batch, before_images) %}
    {% set choice = dbt_cdc._debezium_later_snapshots_choice() %}
    {% do dbt_cdc._debezium_check_reaches_back(events, batch, before_images) if batch.cut_lsn and choice != 'anew' %}
    {% do dbt_cdc._debezium_check_beside(events, batch, before_images) if choice == 'anew' %}
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
            {% do counts.append(row.respelled ~ ' of them in values that are written in another way since: their type, '
                ~ 'or a setting of the connector has changed') if row.respelled %}
            {% do tables.append(row.source_schema ~ '.' ~ row.source_name ~ ' (' ~ counts | join(', ') ~ ')') %}
        {% endfor %}
        {% do dbt_cdc.raise_cdc_error(
            22859,
            'a later snapshot of the source, at ' ~ found[0].snapshot_lsn ~ ', has other rows than the tables by the '
            ~ 'log: ' ~ tables | join(', '),
            'changes were missed, and nothing of this batch is in the log; to take the differences in as one '
            ~ 'transaction, give vars: {cdc_later_snapshots: take}; to begin these tables anew, as after a TRUNCATE, '
            ~ 'vars: {cdc_later_snapshots: anew}; to go on without the snapshot, '
            ~ dbt_cdc._give_up([found[0].name])
        ) if found %}
    {% endif %}
{% endmacro %}


{#- Of a log that was cut nothing tells which tables and rows it had: nothing to compare with, and no difference. -#}
{% macro _debezium_check_reaches_back(events, batch, before_images) %}
    {% set found = dbt_cdc._fetch(dbt_cdc._debezium_cut_tables(events, batch, before_images)) %}
    {% do dbt_cdc.raise_cdc_error(
        22859,
        'a later snapshot of the source, at ' ~ found[0].snapshot_lsn ~ ', cannot be compared with the log, which '
        ~ 'was cut: it begins at ' ~ batch.cut_lsn ~ ', and no longer reaches back to the beginning of '
        ~ found | map(attribute='name') | unique | join(', '),
        'nothing of this batch is in the log; to begin all tables of the snapshot anew, as after a TRUNCATE, give '
        ~ 'vars: {cdc_later_snapshots: anew}; to go on without the snapshot, '
        ~ dbt_cdc._give_up([found[0].snapshot_name])
    ) if found %}
{% endmacro %}


{#- Without a key nothing tells whether rows that are written anew have seen a change beside them, nor behind a
    TRUNCATE; and of several images of a key the last one need not have all values. -#}
{% macro _debezium_check_beside(events, batch, before_images) %}
    {% set found = dbt_cdc._fetch(dbt_cdc._debezium_unclear_tables(events, batch, before_images)) %}
    {% do dbt_cdc.raise_cdc_error(
        22859,
        'a later snapshot of the source, at ' ~ found[0].snapshot_lsn ~ ', cannot begin '
        ~ found | map(attribute='name') | unique | join(', ') ~ ' anew: changes that committed right before it '
        ~ 'were sent behind its rows, and without a key, of a TRUNCATE, or of images that leave out values, '
        ~ 'nothing tells what the rows lack of them',
        'nothing of this batch is in the log; '
        ~ ('' if batch.cut_lsn else 'to take the differences in, give vars: {cdc_later_snapshots: take}; ')
        ~ 'to go on without this snapshot, ' ~ dbt_cdc._give_up([found[0].snapshot_name])
        ~ ', and let the connector take another one'
    ) if found %}
{% endmacro %}


{% macro _debezium_later_snapshots_choice() %}
    {% set choice = var('cdc_later_snapshots', 'compare') %}
    {% do dbt_cdc.raise_cdc_error(
        22963, "var cdc_later_snapshots is '" ~ choice ~ "'", "give 'compare', 'take' or 'anew'"
    ) if choice not in ['compare', 'take', 'anew'] %}
    {% do return(choice) %}
{% endmacro %}


{#- The CTEs of a batch up to `later_tables`. -#}
{% macro _debezium_with_later_rows(events, batch, before_images) -%}
with {{ dbt_cdc._debezium_events(events, batch, before_images) }},

{{ dbt_cdc._debezium_owners(batch) }},

{{ dbt_cdc._debezium_transactions(batch) }},

{{ dbt_cdc._debezium_changes(batch) }},

{{ dbt_cdc._debezium_records(batch) }},

{{ dbt_cdc._debezium_later_rows(batch) }}
{%- endmacro %}


{#- The tables of later snapshots that the log does not know from their beginning. -#}
{% macro _debezium_cut_tables(events, batch, before_images) -%}
{{ dbt_cdc._debezium_with_later_rows(events, batch, before_images) }}

select
    concat('snapshot:', commit_number) as snapshot_name,
    snapshot_lsn,
    concat(source_schema, '.', source_name) as name
from later_tables
where not is_whole
order by commit_number, name
{%- endmacro %}


{#- The tables of later snapshots with changes beside the rows that no key, or no image, tells. -#}
{% macro _debezium_unclear_tables(events, batch, before_images) -%}
{{ dbt_cdc._debezium_with_later_rows(events, batch, before_images) }}

select
    commit_number,
    concat('snapshot:', commit_number) as snapshot_name,
    snapshot_lsn,
    concat(source_schema, '.', source_name) as name
from logged
inner join later_tables using (source_schema, source_name)
where lsn < snapshot_lsn and position > first_position
group by commit_number, snapshot_lsn, source_schema, source_name
-- the last image of a key may leave out a large value that the one before has
having
    bool_or(key_columns is null or operation = 'TRUNCATE')
    or count(distinct if(after_image is null, null, size(json_object_keys(after_image)))) > 1
order by commit_number, name
{%- endmacro %}


{#- By table how many rows of a later snapshot the log lacks, has otherwise, or has alone. -#}
{% macro _debezium_snapshot_differences(events, batch, before_images) -%}
{{ dbt_cdc._debezium_with_later_rows(events, batch, before_images) }},

{{ dbt_cdc._debezium_differences() }}

select
    concat('snapshot:', commit_number) as name,
    {{ dbt_cdc._debezium_lsn_sql('commit_number') }} as snapshot_lsn,
    source_schema,
    source_name,
    sum(greatest(more, 0)) as missing,
    count_if(more = 0) as other,
    sum(greatest(-more, 0)) as extra,
    count_if(more = 0 and is_respelled) as respelled
from compared
where more <> 0 or is_other
group by commit_number, source_schema, source_name
order by commit_number, source_schema, source_name
{%- endmacro %}


{#- CTEs `logged`, the log's records with those of this batch, `later_rows`, the rows of later snapshots, each once, and
    `later_tables`, of whose tables the log has records before (`is_known`). A log that was cut may have had each, and
    knows it from its beginning (`is_whole`) only behind a TRUNCATE. -#}
{% macro _debezium_later_rows(batch) -%}
logged as (
    {%- for relation in ['records'] + ([batch.log] if batch.is_incremental else []) %}
    select lsn, operation, source_schema, source_name, before_image, after_image, encodings, position
    from {{ relation }}
    where source_name is not null and operation <> 'DDL'
    {{- '\n    union all' if not loop.last }}
    {%- endfor %}
),

later_rows as (
    select
        *,
        {{ dbt_cdc._debezium_lsn_sql('commit_number') }} as snapshot_lsn,
        from_json(after, 'map<string,string>') as image,
        json_object_keys(snapshot_key) as key_columns
    from (
        select
            owned.*,
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

later_tables as (
    select
        snapshots.*,
        {%- if batch.cut_lsn %}
        true as is_known,
        coalesce(truncate_lsn < snapshot_lsn, false) as is_whole
        {%- else %}
        coalesce(first_lsn < snapshot_lsn, false) as is_known
        {%- endif %}
    from (
        select
            commit_number,
            snapshot_lsn,
            source_schema,
            source_name,
            min(position) as first_position,
            -- a message key that two rows share is no key
            if(count(*) = count(distinct snapshot_key), max(key_columns), null) as key_columns
        from later_rows
        group by commit_number, snapshot_lsn, source_schema, source_name
    ) as snapshots
    left join (
        select
            source_schema,
            source_name,
            {{ "min(case when operation = 'TRUNCATE' then lsn end) as truncate_lsn" if batch.cut_lsn
                else 'min(lsn) as first_lsn' }}
        from logged
        group by source_schema, source_name
    ) using (source_schema, source_name)
)
{%- endmacro %}


{#- CTEs `by_the_log` and `by_the_snapshot`: the rows of these tables at their keys; with `is_beside` of the log those
    that records beside the rows have changed. -#}
{% macro _debezium_by_log_and_snapshot(tables, is_beside=false) -%}
-- each record takes its before image away and brings its after image; without a key a row is its image
steps as (
    select
        *,
        sum(rows) over (
            partition by commit_number, source_schema, source_name, row_key order by lsn, rows
        ) as rows_since
    from (
        select
            later_tables.*,
            lsn,
            encodings,
            operation,
            position > first_position as is_beside,
            step.*,
            from_json(step.image_text, 'map<string,string>') as image,
            if(key_columns is null, array(image_text), transform(key_columns, name -> image[name])) as row_key,
            max(case when operation = 'TRUNCATE' then lsn end) over (
                partition by commit_number, source_schema, source_name
            ) as truncate_lsn
        from logged
        inner join later_tables using (source_schema, source_name)
        lateral view explode(array(
            named_struct(
                'rows', -1,
                'image_text', coalesce(before_image, case when operation = 'UPDATE' then after_image end)
            ),
            named_struct('rows', 1, 'image_text', after_image)
        )) exploded as step
        where {{ tables }} and lsn < snapshot_lsn{{ ' and position > first_position' if is_beside }}
    )
    where image_text is not null and coalesce(lsn > truncate_lsn, true)
),

-- what is gone that never came was there before the log began
by_the_log as (
    select
        commit_number,
        source_schema,
        source_name,
        row_key,
        max_by(image_text, case when rows > 0 then lsn end) as image_text,
        max_by(image, case when rows > 0 then lsn end) as image,
        if(bool_or(operation = 'INSERT'), flatten(collect_set(map_keys(image))), null) as logged_names,
        max_by(encodings, lsn) as logged_encodings,
        sum(rows) - least(min(rows_since), 0) as logged_count,
        coalesce(sum(case when is_beside then rows end), 0) as beside_count,
        max_by(is_beside, lsn) and max(key_columns) is not null as is_newer
    from steps
    group by commit_number, source_schema, source_name, row_key
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
    where {{ tables }}
    group by 1, 2, 3, 4
)
{%- endmacro %}


{#- CTE `differences`: what makes each known table by the log at a later snapshot's LSN that snapshot: (commit_number,
    operation, source_schema, source_name, before, after, encodings, position). Rows are told apart by the message key;
    without one they are counted. A column that an image lacks is no difference, as it may not have been logged; one
    that no image of a row has since its INSERT was not there. -#}
{% macro _debezium_differences() -%}
{{ dbt_cdc._debezium_by_log_and_snapshot('is_known') }},

-- of a transaction at a lower LSN whose event comes behind the snapshot's rows nothing tells whether they have seen it:
-- what it says of a key counts, and of rows without a key either count
compared as (
    select
        *,
        if(
            coalesce(snapshot_count, 0) between logged_count - greatest(beside_count, 0)
            and logged_count - least(beside_count, 0),
            0, coalesce(snapshot_count, 0) - coalesce(logged_count, 0)
        ) as more,
        logged_count = 1 and snapshot_count = 1 and exists(
            concat(
                map_keys(image),
                array_except(map_keys(snapshot_image), coalesce(logged_names, map_keys(snapshot_image)))
            ), name -> not image[name] <=> snapshot_image[name]
        ) as is_other,
        -- one record has one `encodings` for both images
        coalesce(logged_encodings <> encodings and array_contains(map_values(map_zip_with(
            from_json(logged_encodings, 'map<string,string>'),
            from_json(encodings, 'map<string,string>'),
            (name, logged, written) -> logged <> written and image[name] is not null
        )), true), false) as is_respelled
    from by_the_log
    full outer join by_the_snapshot using (commit_number, source_schema, source_name, row_key)
    where not coalesce(is_newer, false)
),

differences as (
    select
        commit_number,
        operation,
        source_schema,
        source_name,
        case when operation <> 'INSERT' then image_text end as before,
        case when operation <> 'DELETE' then after end as after,
        if(operation = 'DELETE', coalesce(logged_encodings, encodings), coalesce(encodings, logged_encodings))
            as encodings,
        position
    from compared
    lateral view explode(sequence(1, greatest(abs(more), 1))) numbers as number
    lateral view explode(case
        when more < 0 then array('DELETE')
        when more > 0 then array('INSERT')
        when is_respelled then array('DELETE', 'INSERT')
        else array('UPDATE')
    end) operations as operation
    where more <> 0 or is_other
)
{%- endmacro %}


{#- CTE `newer`, of the same columns: what makes the rows of tables that begin anew those of the log, where records
    beside them have changed it. A DELETE is a row that is not written. -#}
{% macro _debezium_newer() -%}
{{ dbt_cdc._debezium_by_log_and_snapshot('later_tables.key_columns is not null', is_beside=true) }},

newer as (
    select
        commit_number,
        -- an UPDATE, as the image leaves out large values that were not logged
        case when logged_count = 0 then 'DELETE' when snapshot_count is null then 'INSERT' else 'UPDATE' end
            as operation,
        source_schema,
        source_name,
        after as before,
        image_text as after,
        coalesce(logged_encodings, encodings) as encodings,
        position
    from by_the_log
    left join by_the_snapshot using (commit_number, source_schema, source_name, row_key)
    where
        logged_count <> coalesce(snapshot_count, 0)
        or exists(map_keys(image), name -> not image[name] <=> snapshot_image[name])
)
{%- endmacro %}


{#- CTE `records_and_snapshots`: the records, and a transaction for each later snapshot. It brings the rows of tables
    that are new to the log; of the others nothing, the differences, or all rows behind a TRUNCATE, with what came
    beside them. BEGIN and COMMIT always are there: then the snapshot counts as read. -#}
{% macro _debezium_later_records(batch) -%}
{%- set choice = dbt_cdc._debezium_later_snapshots_choice() -%}
{{ dbt_cdc._debezium_later_rows(batch) }},

{% if choice != 'compare' -%}
{{ dbt_cdc._debezium_newer() if choice == 'anew' else dbt_cdc._debezium_differences() }},

{% endif -%}
later_changes as (
    select
        commit_number,
        'INSERT' as operation,
        source_schema,
        source_name,
        null as before,
        after,
        encodings,
        position
    from later_rows
    inner join later_tables using (commit_number, source_schema, source_name)
    {%- if choice == 'anew' %}
    left anti join (
        select commit_number, position from newer where operation = 'DELETE'
    ) using (commit_number, position)
    union all
    select commit_number, 'TRUNCATE', source_schema, source_name, null, null, null, 0
    from later_tables
    where is_known
    union all
    select * from newer where operation <> 'DELETE'
    {%- else %}
    where not is_known
    {%- if choice == 'take' %}
    union all
    select * from differences
    {%- endif %}
    {%- endif %}
    union all
    select commit_number, explode(array('BEGIN', 'COMMIT')), null, null, null, null, null, last_position
    from emitted_transactions
    where is_later
),

later_operations as (
    select
        *,
        row_number() over (
            partition by commit_number
            order by
                case
                    when operation = 'BEGIN' then 0
                    when operation in ('TRUNCATE', 'DELETE') then 1
                    when operation = 'INSERT' then 2
                    when operation = 'UPDATE' then 3
                    else 4
                end,
                source_schema, source_name, position, before, after
        ) as ordinal
    from later_changes
),

records_and_snapshots as (
    select * from records
    union all
    select
        case
            when operation = 'COMMIT' then {{ dbt_cdc._debezium_lsn_sql('commit_number') }}
            when ordinal div {{ 2 ** 24 }} >= commit_number - previous_commit
                then {{ dbt_cdc._raise_bad_record(
                    "concat('snapshot:', commit_number)",
                    "'it brings more rows than there is room for between its LSN and the commit before'",
                    'take the snapshot in parts, of some of its tables each, or begin a log of its own with it'
                ) | indent(16) }}
            else {{ dbt_cdc._debezium_lsn_sql(
                'previous_commit + ordinal div ' ~ 2 ** 24, 'ordinal % ' ~ 2 ** 24) }}
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
        cast(null as string) as `transaction`,
        position,
        resume_position
    from later_operations
    inner join emitted_transactions using (commit_number)
)
{%- endmacro %}
