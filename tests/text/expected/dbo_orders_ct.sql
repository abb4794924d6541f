with transactions as (
    select
        tran_id,
        begin_lsn,
        commit_lsn
    from schema_of_target.scan_transactions
    where
        window_to_lsn = '0x00000000000000000000'
        and commit_lsn > '0x00000000000000000000'
),

records as (
    select
        transactions.commit_lsn,
        log.lsn,
        log.operation,
        log.command_id,
        case when log.operation <> 'INSERT' then log.before_image end as before_image,
        case when log.operation <> 'DELETE' then log.after_image end as after_image
    from schema_of_target.raw_log as log
    inner join transactions
        on
            log.tran_id = transactions.tran_id
            and log.lsn between transactions.begin_lsn and transactions.commit_lsn
    where
        log.source_schema = 'dbo'
        and log.source_name = 'orders'
        and log.operation in ('INSERT', 'UPDATE', 'DELETE')
        and log.lsn >= '0x00000000000000000000'
        and log.lsn <= '0x00000000000000000000'
),

read as (
    select
        *,
        transform(array(
                from_json(
                        concat(
                            '{"images":[', coalesce(regexp_replace(before_image, '(?<!\\\\)("(?:note|amount)"\\s*:\\s*)(-?[0-9]+[.eE][-+.0-9eE]*|-0(?=[\\s,}]))', '$1"$2"'), '{}'),
                            ',', coalesce(regexp_replace(after_image, '(?<!\\\\)("(?:note|amount)"\\s*:\\s*)(-?[0-9]+[.eE][-+.0-9eE]*|-0(?=[\\s,}]))', '$1"$2"'), '{}'), ']}'
                        ),
                        'images array<struct<`id`: string, `note`: string, `amount`: string, `at`: string>>, malformed string',
                        map(
                            'columnNameOfCorruptRecord', 'malformed',
                            'allowSingleQuotes', 'false',
                            'allowNonNumericNumbers', 'false'
                        )
                    )
            ), parsed -> transform(array(
                    named_struct(
                            'before', array(
                                    parsed.images[0].`id`,
                                    parsed.images[0].`note`,
                                    parsed.images[0].`amount`,
                                    parsed.images[0].`at`
                                ),
                            'after', array(
                                    parsed.images[1].`id`,
                                    parsed.images[1].`note`,
                                    parsed.images[1].`amount`,
                                    parsed.images[1].`at`
                                )
                        )
                ), texts -> transform(array(
                        named_struct(
                                'before', transform(texts.before, (text, i) -> case array('int', 'varchar(20)', 'decimal(9,2)', 'timestamp')[i]
                                        when 'int' then filter(
                                            array(case
                                                    when text rlike '^[-+]?[0-9]+$'
                                                        then text
                                                    else cast(try_cast(case
                                                            when not text rlike
                                                                '^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]{1,3})?$'
                                                                then null
                                                            when replace(regexp_extract(text, '^[-+]?([0-9.]*)', 1), '.', '') rlike '^0*$'
                                                                then '0'
                                                            when length(regexp_extract(text, '[.]([0-9]*)', 1))
                                                                - coalesce(try_cast(regexp_extract(text, '[eE](.*)$', 1) as int), 0)
                                                                - length(regexp_extract(replace(regexp_extract(text, '^[-+]?([0-9.]*)', 1), '.', ''), '0*$', 0)) <= 0
                                                                then text
                                                        end
                                                        as decimal(38, 0)) as string)
                                                end),
                                            fitted -> try_cast(fitted as int) is not null
                                        )[0]
                                        when 'varchar(20)' then filter(
                                            array(case when char_length(text) <= 20 then text end),
                                            fitted -> fitted is not null
                                        )[0]
                                        when 'decimal(9,2)' then filter(
                                            array(case
                                                    when not text rlike
                                                        '^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]{1,3})?$'
                                                        then null
                                                    when replace(regexp_extract(text, '^[-+]?([0-9.]*)', 1), '.', '') rlike '^0*$'
                                                        then '0'
                                                    when length(regexp_extract(text, '[.]([0-9]*)', 1))
                                                        - coalesce(try_cast(regexp_extract(text, '[eE](.*)$', 1) as int), 0)
                                                        - length(regexp_extract(replace(regexp_extract(text, '^[-+]?([0-9.]*)', 1), '.', ''), '0*$', 0)) <= 2
                                                        then text
                                                end),
                                            fitted -> try_cast(fitted as decimal(9,2)) is not null
                                        )[0]
                                        when 'timestamp' then filter(
                                            array(case
                                                    when substr(text, 5, 1) = '-' or text rlike '^[-+]?[0-9]{4,7}-[0-9]{2}-[0-9]{2}'
                                                        then text
                                                end),
                                            fitted -> try_cast(fitted as timestamp) is not null
                                        )[0]
                                        else text
                                    end),
                                'after', transform(texts.after, (text, i) -> case array('int', 'varchar(20)', 'decimal(9,2)', 'timestamp')[i]
                                        when 'int' then filter(
                                            array(case
                                                    when text rlike '^[-+]?[0-9]+$'
                                                        then text
                                                    else cast(try_cast(case
                                                            when not text rlike
                                                                '^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]{1,3})?$'
                                                                then null
                                                            when replace(regexp_extract(text, '^[-+]?([0-9.]*)', 1), '.', '') rlike '^0*$'
                                                                then '0'
                                                            when length(regexp_extract(text, '[.]([0-9]*)', 1))
                                                                - coalesce(try_cast(regexp_extract(text, '[eE](.*)$', 1) as int), 0)
                                                                - length(regexp_extract(replace(regexp_extract(text, '^[-+]?([0-9.]*)', 1), '.', ''), '0*$', 0)) <= 0
                                                                then text
                                                        end
                                                        as decimal(38, 0)) as string)
                                                end),
                                            fitted -> try_cast(fitted as int) is not null
                                        )[0]
                                        when 'varchar(20)' then filter(
                                            array(case when char_length(text) <= 20 then text end),
                                            fitted -> fitted is not null
                                        )[0]
                                        when 'decimal(9,2)' then filter(
                                            array(case
                                                    when not text rlike
                                                        '^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]{1,3})?$'
                                                        then null
                                                    when replace(regexp_extract(text, '^[-+]?([0-9.]*)', 1), '.', '') rlike '^0*$'
                                                        then '0'
                                                    when length(regexp_extract(text, '[.]([0-9]*)', 1))
                                                        - coalesce(try_cast(regexp_extract(text, '[eE](.*)$', 1) as int), 0)
                                                        - length(regexp_extract(replace(regexp_extract(text, '^[-+]?([0-9.]*)', 1), '.', ''), '0*$', 0)) <= 2
                                                        then text
                                                end),
                                            fitted -> try_cast(fitted as decimal(9,2)) is not null
                                        )[0]
                                        when 'timestamp' then filter(
                                            array(case
                                                    when substr(text, 5, 1) = '-' or text rlike '^[-+]?[0-9]{4,7}-[0-9]{2}-[0-9]{2}'
                                                        then text
                                                end),
                                            fitted -> try_cast(fitted as timestamp) is not null
                                        )[0]
                                        else text
                                    end)
                            )
                    ), fitted -> transform(array(
                            case
                                    when operation = 'UPDATE' and (
                                        exists(texts.before, text -> text is null) or exists(texts.after, text -> text is null)
                                    ) then named_struct(
                                            'before', coalesce(json_object_keys(before_image), cast(array() as array<string>)),
                                            'after', coalesce(json_object_keys(after_image), cast(array() as array<string>))
                                        )
                                end
                        ), listed -> transform(array(
                                named_struct(
                                        'before_lacks', array_except(listed.after, listed.before),
                                        'after_lacks', array_except(listed.before, listed.after)
                                    )
                            ), keys -> named_struct(
                                        'problem', case
                                                when operation in ('INSERT', 'UPDATE') and after_image is null
                                                    then concat(
                                                'CDC 22859: bad log record of ', concat('table ', 'dbo.orders', ', column ', 'after_image', ', lsn ', lsn), ': ', 'the after image is missing',
                                                ': nothing of this scan is published; correct the record in the log (or its adapter), then run again'
                                            )
                                                when operation in ('UPDATE', 'DELETE') and before_image is null
                                                    then concat(
                                                'CDC 22859: bad log record of ', concat('table ', 'dbo.orders', ', column ', 'before_image', ', lsn ', lsn), ': ', 'the before image is missing',
                                                ': make the source log complete images (PostgreSQL: alter table ... replica identity full; MySQL: binlog_row_image=FULL; Oracle: supplemental log data (all) columns), or accept partial ones with meta.cdc.before_image: partial; then run again'
                                            )
                                                when parsed.malformed is not null or size(parsed.images) <> 2
                                                    or parsed.images[0] is null or parsed.images[1] is null
                                                    then concat(
                                                'CDC 22859: bad log record of ', concat('table ', 'dbo.orders', ', column ', case when json_object_keys(before_image) is null and before_image is not null then 'before_image' else 'after_image' end, ', lsn ', lsn), ': ', 'the image is no JSON object',
                                                ': nothing of this scan is published; correct the record in the log (or its adapter), then run again'
                                            )
                                                when array_position(zip_with(texts.before, fitted.before, (text, fitted) -> text is not null and fitted is null), true) > 0
                                                    then transform(array(
                                                            array_position(zip_with(texts.before, fitted.before, (text, fitted) -> text is not null and fitted is null), true)
                                                        ), place -> concat(
                                                                'CDC 22859: bad log record of ', concat('table ', 'dbo.orders', ', column ', array('id', 'note', 'amount', 'at')[place - 1], ', lsn ', lsn), ': ', concat('the value ', left(texts.before[place - 1], 200), ' of the before image does not fit ', array('int', 'varchar(20)', 'decimal(9,2)', 'timestamp')[place - 1]),
                                                                ': nothing of this scan is published; correct the record in the log (or its adapter), then run again'
                                                            ))[0]
                                                when array_position(zip_with(texts.after, fitted.after, (text, fitted) -> text is not null and fitted is null), true) > 0
                                                    then transform(array(
                                                            array_position(zip_with(texts.after, fitted.after, (text, fitted) -> text is not null and fitted is null), true)
                                                        ), place -> concat(
                                                                'CDC 22859: bad log record of ', concat('table ', 'dbo.orders', ', column ', array('id', 'note', 'amount', 'at')[place - 1], ', lsn ', lsn), ': ', concat('the value ', left(texts.after[place - 1], 200), ' of the after image does not fit ', array('int', 'varchar(20)', 'decimal(9,2)', 'timestamp')[place - 1]),
                                                                ': nothing of this scan is published; correct the record in the log (or its adapter), then run again'
                                                            ))[0]
                                                when array_size(array_intersect(array('id', 'note', 'amount', 'at'), keys.before_lacks)) > 0
                                                    then concat(
                                                'CDC 22859: bad log record of ', concat('table ', 'dbo.orders', ', column ', array_intersect(array('id', 'note', 'amount', 'at'), keys.before_lacks)[0], ', lsn ', lsn), ': ', 'the before image of this update lacks a column that its after image has',
                                                ': make the source log complete images (PostgreSQL: alter table ... replica identity full; MySQL: binlog_row_image=FULL; Oracle: supplemental log data (all) columns), or accept partial ones with meta.cdc.before_image: partial; then run again'
                                            )
                                            end,
                                        'before', fitted.before,
                                        'after', transform(fitted.after, (text, i) -> case
                                                when array_contains(keys.after_lacks, array('id', 'note', 'amount', 'at')[i]) then fitted.before[i]
                                                else text
                                            end),
                                        'unknown', array_intersect(array('id', 'note', 'amount', 'at'), keys.before_lacks)
                                    ))[0])[0])[0])[0])[0] as images
    from records
),

complete as (
    select
        commit_lsn,
        lsn,
        command_id,
        images.unknown,
        try_cast(images.before[0] as int) as before_1,
            images.before[1] as before_2,
            try_cast(images.before[2] as decimal(9,2)) as before_3,
            try_cast(images.before[3] as timestamp) as before_4,
            try_cast(images.after[0] as int) as after_1,
            images.after[1] as after_2,
            try_cast(images.after[2] as decimal(9,2)) as after_3,
            try_cast(images.after[3] as timestamp) as after_4,
        case
                when images.problem is not null or exists(array(lsn), lsn -> lsn is null) then raise_error(images.problem)
                else operation
            end as operation
    from read
),

compared as (
    select
        *,
        if(operation = 'UPDATE', cast(0 as bigint)
                + if(before_1 <=> after_1, 0, 1)
                + if(before_2 <=> after_2, 0, 2)
                + if(before_3 <=> after_3, 0, 4)
                + if(before_4 <=> after_4, 0, 8), 0) as mask_1,
        operation = 'UPDATE' and not (before_1 <=> after_1) as is_key_change
    from complete
),

changes as (
    select
        *,
        explode(case
                when operation = 'INSERT' then array(2)
                when operation = 'DELETE' then array(1)
                when is_key_change then array(1, 2)
                when mask_1 <> 0 then array(3, 4)
            end) as row_operation
    from compared
)

select
    commit_lsn as `__$start_lsn`,
    cast(null as string) as `__$end_lsn`,
    lsn as `__$seqval`,
    row_operation as `__$operation`,
    case
            when row_operation in (1, 2)
                then '0x0F'
            else concat('0x', lpad(hex(mask_1), 2, '0'))
        end as `__$update_mask`,
    case when row_operation in (1, 3) then before_1 else after_1 end as `id`,
    case when row_operation in (1, 3) then before_2 else after_2 end as `note`,
    case when row_operation in (1, 3) then before_3 else after_3 end as `amount`,
    case when row_operation in (1, 3) then before_4 else after_4 end as `at`,
    command_id as `__$command_id`
from changes
