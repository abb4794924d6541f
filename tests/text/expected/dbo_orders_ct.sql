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
        and log.source_name = 'orders'
        and log.operation in ('INSERT', 'UPDATE', 'DELETE')
        and log.lsn between '0x00000000000000000000' and '0x00000000000000000000'
),

parsed as (
    select
        *,
        from_json(
            concat('{"images":[', coalesce(before_image, '{}'), ',', coalesce(after_image, '{}'), ']}'),
            'images array<struct<
                `id`: int, `note`: string, `amount`: decimal(38,18), `at`: string
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
            if(isnull(old.`id`), not contains(flat, '"id":'), isnull(after.`id`))
            or if(isnull(old.`note`), not contains(flat, '"note":'), isnull(after.`note`))
            or if(isnull(old.`amount`), not contains(flat, '"amount":'), isnull(after.`amount`))
            or if(isnull(old.`at`), not contains(flat, '"at":'), isnull(after.`at`))
        ) as has_nulls,
        if(has_nulls, json_object_keys(coalesce(before_image, '{}')), null) as old_keys,
        if(has_nulls, json_object_keys(coalesce(after_image, '{}')), null) as new_keys,
        array_except(new_keys, old_keys) as before_lacks,
        array_except(old_keys, new_keys) as after_lacks,
        if(size(after_lacks) > 0, named_struct(
            'id', if(array_contains(after_lacks, 'id'), old.`id`, after.`id`),
            'note', if(array_contains(after_lacks, 'note'), old.`note`, after.`note`),
            'amount', if(array_contains(after_lacks, 'amount'), old.`amount`, after.`amount`),
            'at', if(array_contains(after_lacks, 'at'), old.`at`, after.`at`)
        ), after) as new
    from parsed
),

compared as (
    select
        *,
        0L + if(old.`id` <=> new.`id`, 0, 1) + if(old.`note` <=> new.`note`, 0, 2)
        + if(old.`amount` <=> new.`amount`, 0, 4)
        + if(try_cast(old.`at` as timestamp) <=> try_cast(new.`at` as timestamp), 0, 8) as mask_1,
        if(old.`id` <=> new.`id`, false, true) as is_key_change
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
            'id', image.`id`, 'note', image.`note`,
            'amount', try_cast(image.`amount` as decimal(9,2)),
            'at', try_cast(image.`at` as timestamp)
        ) as value,
        contains(text, '00000000') or contains(text, '99999999')
        or contains(text, 'e-') or contains(text, 'E-') as is_long,
        array('id', 'note', 'amount', 'at') as names,
        case
            when json.malformed is not null or size(json.images) <> 2
                or old is null or after is null or text is null then 'image'
            when arrays_overlap(before_lacks, names) then get(array_intersect(before_lacks, names), 0)
            when image.`note` rlike '^(-?\\d+[.]|0$|"|[{\\[].*(\\d[.]\\d|"-?I))'
                and text rlike '"note"\\s*:\\s*(-?\\d+[.eE]|-0|[{\\[])'
                and not contains(text, concat('"note":', image.`note`, ','))
                and not contains(text, concat('"note":', image.`note`, '}')) then 'note'
            when char_length(value.`note`) > 20 then 'note'
            when not image.`amount` <=> value.`amount` then 'amount'
            when is_long and text rlike '"amount"\\s*:\\s*"?-?\\d*[.]\\d{18}\\d*[1-9]' then 'amount'
            when is_long and length(regexp_extract(text, '"amount"\\s*:\\s*"?-?\\d*[.]?(\\d*)[eE]-', 1))
                + int(0 || regexp_extract(text, '"amount"\\s*:\\s*"?-?[\\d.]*[eE]-(\\d{1,9})', 1)) > 18 then 'amount'
            when isnull(value.`at`) <> isnull(image.`at`)
                or not image.`at` rlike '^[-+]?\\d{4,}-\\d+-\\d' then 'at'
        end as misfit
    from changes
)

select
    commit_lsn as `__$start_lsn`,
    cast(null as string) as `__$end_lsn`,
    lsn as `__$seqval`,
    row_operation as `__$operation`,
    if(row_operation in (1, 2), '0x0F', concat('0x', lpad(hex(mask_1), 2, '0')))
        as `__$update_mask`,
    value.*,
    command_id as `__$command_id`
from typed
where if(misfit is null, row_operation in (1, 2) or mask_1 <> 0, raise_error(concat(
    'CDC 22859: bad log record of table dbo.orders, lsn ', lsn,
    ', column ', misfit, ' (dbt_cdc/docs/errors.md)'
)))
