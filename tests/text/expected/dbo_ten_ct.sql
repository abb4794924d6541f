with records as (
    select
        committed.commit_lsn,
        log.lsn,
        log.operation,
        log.command_id,
        case when log.operation <> 'INSERT' then log.before_image end as before_image,
        case when log.operation <> 'DELETE' then log.after_image end as after_image
    from schema_of_target.raw_log as log
    inner join schema_of_target.scan_transactions as committed
        on
            log.tran_id = committed.tran_id
            and log.lsn between committed.begin_lsn and committed.commit_lsn
    where
        committed.window_to_lsn = '0x00000000000000000000'
        and committed.commit_lsn > '0x00000000000000000000'
        and log.source_schema = 'dbo'
        and log.source_name = 'ten'
        and log.operation in ('INSERT', 'UPDATE', 'DELETE')
        and log.lsn between '0x00000000000000000000' and '0x00000000000000000000'
),

parsed as (
    select
        *,
        from_json(
            concat('{"images":[', coalesce(before_image, '{}'), ',', coalesce(after_image, '{}'), ']}'),
            'images array<struct<
                `column_0`: bigint, `column_1`: int, `column_2`: string, `column_3`: string,
                `column_4`: decimal(38,18), `column_5`: boolean, `column_6`: string,
                `column_7`: string, `column_8`: string, `column_9`: string
            >>, malformed string',
            map('columnNameOfCorruptRecord', 'malformed', 'locale', 'en-GB',
                'allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false')
        ) as json,
        get(json.images, 0) as old,
        get(json.images, 1) as after,
        if(locate('{', before_image, 2) = 0 and not contains(before_image, '\\"'),
            before_image, '') as flat
    from records
),

-- an absent key and a null differ only in an update, where the images do not show that it is a null
complete as (
    select
        *,
        operation = 'UPDATE' and (
            if(isnull(old.`column_0`), not contains(flat, '"column_0":'), isnull(after.`column_0`))
            or if(isnull(old.`column_1`), not contains(flat, '"column_1":'), isnull(after.`column_1`))
            or if(isnull(old.`column_2`), not contains(flat, '"column_2":'), isnull(after.`column_2`))
            or if(isnull(old.`column_3`), not contains(flat, '"column_3":'), isnull(after.`column_3`))
            or if(isnull(old.`column_4`), not contains(flat, '"column_4":'), isnull(after.`column_4`))
            or if(isnull(old.`column_5`), not contains(flat, '"column_5":'), isnull(after.`column_5`))
            or if(isnull(old.`column_6`), not contains(flat, '"column_6":'), isnull(after.`column_6`))
            or if(isnull(old.`column_7`), not contains(flat, '"column_7":'), isnull(after.`column_7`))
            or if(isnull(old.`column_8`), not contains(flat, '"column_8":'), isnull(after.`column_8`))
            or if(isnull(old.`column_9`), not contains(flat, '"column_9":'), isnull(after.`column_9`))
        ) as has_nulls,
        if(has_nulls, json_object_keys(coalesce(before_image, '{}')), null) as old_keys,
        if(has_nulls, json_object_keys(coalesce(after_image, '{}')), null) as new_keys,
        array_except(new_keys, old_keys) as before_lacks,
        array_except(old_keys, new_keys) as after_lacks,
        if(size(after_lacks) > 0, named_struct(
            'column_0', if(array_contains(after_lacks, 'column_0'), old.`column_0`, after.`column_0`),
            'column_1', if(array_contains(after_lacks, 'column_1'), old.`column_1`, after.`column_1`),
            'column_2', if(array_contains(after_lacks, 'column_2'), old.`column_2`, after.`column_2`),
            'column_3', if(array_contains(after_lacks, 'column_3'), old.`column_3`, after.`column_3`),
            'column_4', if(array_contains(after_lacks, 'column_4'), old.`column_4`, after.`column_4`),
            'column_5', if(array_contains(after_lacks, 'column_5'), old.`column_5`, after.`column_5`),
            'column_6', if(array_contains(after_lacks, 'column_6'), old.`column_6`, after.`column_6`),
            'column_7', if(array_contains(after_lacks, 'column_7'), old.`column_7`, after.`column_7`),
            'column_8', if(array_contains(after_lacks, 'column_8'), old.`column_8`, after.`column_8`),
            'column_9', if(array_contains(after_lacks, 'column_9'), old.`column_9`, after.`column_9`)
        ), after) as new
    from parsed
),

compared as (
    select
        *,
        0L + if(old.`column_0` <=> new.`column_0`, 0, 1)
        + if(old.`column_1` <=> new.`column_1`, 0, 2)
        + if(old.`column_2` <=> new.`column_2`, 0, 4)
        + if(old.`column_3` <=> new.`column_3`, 0, 8)
        + if(old.`column_4` <=> new.`column_4`, 0, 16)
        + if(old.`column_5` <=> new.`column_5`, 0, 32)
        + if(try_cast(old.`column_6` as date) <=> try_cast(new.`column_6` as date), 0, 64)
        + if(try_cast(old.`column_7` as double) <=> try_cast(new.`column_7` as double), 0, 128)
        + if(try_cast(old.`column_8` as timestamp) <=> try_cast(new.`column_8` as timestamp), 0, 256)
        + if(try_to_binary(old.`column_9`, 'base64') <=> try_to_binary(new.`column_9`, 'base64'), 0, 512) as mask_1,
        if(old.`column_0` <=> new.`column_0`, false, true) as is_key_change
    from complete
),

changes as (
    select
        *,
        inline(case operation
            when 'INSERT' then array(struct(2, new as image, after_image as text))
            when 'DELETE' then array(struct(1, old as image, before_image as text))
            else array(
                struct(if(is_key_change, 1, 3), old as image, before_image as text),
                struct(if(is_key_change, 2, 4), new as image, after_image as text)
            )
        end) as (row_operation, image, text)
    from compared
),

-- what the parser has rounded or cannot tell shows beside the value that is made of it
typed as (
    select
        *,
        named_struct(
            'column_0', image.`column_0`, 'column_1', try_cast(image.`column_1` as smallint),
            'column_2', image.`column_2`, 'column_3', image.`column_3`,
            'column_4', try_cast(image.`column_4` as decimal(12,2)),
            'column_5', image.`column_5`, 'column_6', try_cast(image.`column_6` as date),
            'column_7', try_cast(image.`column_7` as double),
            'column_8', try_cast(image.`column_8` as timestamp),
            'column_9', try_to_binary(image.`column_9`, 'base64')
        ) as value,
        contains(text, '00000000') or contains(text, '99999999')
        or contains(text, 'e-') or contains(text, 'E-') as is_long,
        array('column_0', 'column_1', 'column_2', 'column_3', 'column_4', 'column_5', 'column_6',
            'column_7', 'column_8', 'column_9') as names,
        case
            when json.malformed is not null or size(json.images) <> 2
                or old is null or after is null or text is null then 'image'
            when arrays_overlap(before_lacks, names) then get(array_intersect(before_lacks, names), 0)
            when not image.`column_1` <=> value.`column_1` then 'column_1'
            when image.`column_2` rlike '^(-?\\d+[.]|0$|"|[{\\[].*(\\d[.]\\d|"-?I))'
                and text rlike '"column_2"\\s*:\\s*(-?\\d+[.eE]|-0|[{\\[])'
                and not contains(text, concat('"column_2":', image.`column_2`, ','))
                and not contains(text, concat('"column_2":', image.`column_2`, '}')) then 'column_2'
            when char_length(value.`column_2`) > 40 then 'column_2'
            when image.`column_3` rlike '^(-?\\d+[.]|0$|"|[{\\[].*(\\d[.]\\d|"-?I))'
                and text rlike '"column_3"\\s*:\\s*(-?\\d+[.eE]|-0|[{\\[])'
                and not contains(text, concat('"column_3":', image.`column_3`, ','))
                and not contains(text, concat('"column_3":', image.`column_3`, '}')) then 'column_3'
            when not image.`column_4` <=> value.`column_4` then 'column_4'
            when is_long and text rlike '"column_4"\\s*:\\s*"?-?\\d*[.]\\d{18}\\d*[1-9]' then 'column_4'
            when is_long and length(regexp_extract(text, '"column_4"\\s*:\\s*"?-?\\d*[.]?(\\d*)[eE]-', 1))
                + int(0 || regexp_extract(text, '"column_4"\\s*:\\s*"?-?[\\d.]*[eE]-(\\d{1,9})', 1)) > 18 then 'column_4'
            when isnull(value.`column_6`) <> isnull(image.`column_6`)
                or not image.`column_6` rlike '^[-+]?\\d{4,}-\\d+-\\d+([T ][0:.]+Z?)?$' then 'column_6'
            when isnull(value.`column_7`) <> isnull(image.`column_7`)
                or not image.`column_7` rlike '^([-+.0-9eE]+|-?Infinity|NaN)$' then 'column_7'
            when abs(value.`column_7`) = double('infinity') and image.`column_7` rlike '\\d$' then 'column_7'
            when isnull(value.`column_8`) <> isnull(image.`column_8`)
                or not image.`column_8` rlike '^[-+]?\\d{4,}-\\d+-\\d' then 'column_8'
            when isnull(value.`column_9`) <> isnull(image.`column_9`) or length(image.`column_9`) % 4 <> 0 then 'column_9'
        end as misfit
    from changes
)

select
    commit_lsn as `__$start_lsn`,
    cast(null as string) as `__$end_lsn`,
    lsn as `__$seqval`,
    row_operation as `__$operation`,
    if(row_operation in (1, 2), '0x03FF', concat('0x', lpad(hex(mask_1), 4, '0')))
        as `__$update_mask`,
    value.*,
    command_id as `__$command_id`
from typed
where if(misfit is null, row_operation in (1, 2) or mask_1 <> 0, raise_error(concat(
    'CDC 22859: bad log record of table dbo.ten, lsn ', lsn,
    ', column ', misfit, ' (dbt_cdc/docs/errors.md)'
)))
