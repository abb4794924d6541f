with parsed as (
    select
        committed.commit_lsn,
        log.lsn,
        log.operation,
        log.command_id,
        log.before_image,
        log.after_image,
        from_json(
            concat('{"images":[', if(log.operation = 'INSERT', '{}', log.before_image), ',',
                if(log.operation = 'DELETE', '{}', log.after_image), ']}'),
            'images array<struct<`id`: int, `note`: string, `amount`: decimal(38,18),
            `at`: string>>, bad string',
            map('columnNameOfCorruptRecord', 'bad', 'locale', 'ff-Adlm-u-nu-latn',
                'allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false')
        ) as json
    from schema_of_target.raw_log as log
    inner join schema_of_target.scan_transactions as committed
        on log.tran_id = committed.tran_id
        and log.lsn between committed.begin_lsn and committed.commit_lsn
    where committed.window_to_lsn = '0x00000000000000000000'
        and committed.commit_lsn > '0x00000000000000000000'
        and log.source_schema = 'dbo' and log.source_name = 'orders'
        and log.operation in ('INSERT', 'UPDATE', 'DELETE')
        and log.lsn between '0x00000000000000000000' and '0x00000000000000000000'
),

-- a null may be an absent key: what only the after image lacks has not changed
compared as (
    select
        *,
        get(json.images, 0) as old,
        get(json.images, 1) as post,
        if(operation = 'UPDATE' and (
            isnull(old.`id` = post.`id`) or isnull(old.`note` = post.`note`)
            or isnull(old.`amount` = post.`amount`) or isnull(old.`at` = post.`at`)
        ), array('id', 'note', 'amount', 'at'), null) as names,
        array_except(names, json_object_keys(after_image)) as kept,
        array_except(array_except(names, json_object_keys(before_image)), kept) as missing,
        if(size(kept) > 0, named_struct(
            'id', (if(array_contains(kept, 'id'), old, post)).`id`,
            'note', (if(array_contains(kept, 'note'), old, post)).`note`,
            'amount', (if(array_contains(kept, 'amount'), old, post)).`amount`,
            'at', (if(array_contains(kept, 'at'), old, post)).`at`
        ), post) as new,
        if(old.`id` <=> new.`id`, 0L, 1) + if(old.`note` <=> new.`note`, 0, 2)
        + if(old.`amount` <=> new.`amount`, 0, 4)
        + if(try_cast(old.`at` as timestamp) <=> try_cast(new.`at` as timestamp), 0, 8) as mask_1,
        mask_1 & 1 <> 0 as is_key_change
    from parsed
),

typed as (
    select
        *,
        named_struct(
            'id', image.`id`, 'note', image.`note`,
            'amount', try_cast(image.`amount` as decimal(9,2)),
            'at', try_cast(image.`at` as timestamp)
        ) as value,
        contains(text, '0000000') or contains(text, '9999999') as has_run,
        if(contains(text, '\\u'), regexp_extract_all(text,
            concat('"((?:[^"\\\\]|\\\\.)*+)"\\s*:\\s*"',
            '(?i:[^"\\\\]|\\\\(?!ud[89a-f]).|\\\\ud[89ab]..\\\\ud[c-f])*+\\\\')), null) as halves,
        old is null or post is null or json.bad is not null or size(json.images) <> 2
        or not image.`note` rlike '^(?s)(?!-?\\d+[.]|0$|"|[{\\[].*(\\d[.]\\d|"(NaN|-?Infi)))'
            and replace(text, '"note":' || image.`note`, '\Z')
                rlike '\\x1a[^,}\\s]|"note"\\s*:\\s*(-?\\d+[.eE]|-0|[-+]?[{\\[NI])'
        or (has_run or image.`amount` = 0) and text rlike '"amount"\\s*:\\s*"?-?'
            || '(\\d*[.]\\d{18}\\d*[1-9]|(?![^-]{1,11}-\\d\\D)[\\d.]*[1-9][\\d.]*[eE]-)'
        or size(missing) > 0 or array_contains(halves, 'note') or char_length(value.`note`) > 20
        or not image.`amount` <=> value.`amount`
        or coalesce(abs(year(value.`at`)) > 99999, true) <> isnull(image.`at`)
        or not image.`at` rlike '^[-+]?\\d{4,}-\\d+-\\d' as is_misfit
    from compared
    lateral view inline(case operation
        when 'INSERT' then array(struct(2, new as image, after_image as text))
        when 'DELETE' then array(struct(1, old as image, before_image as text))
        else array(struct(if(is_key_change, 1, 3), old as image, before_image as text),
            struct(if(is_key_change, 2, 4), new as image, after_image as text))
    end) images as row_operation, image, text
)

select
    commit_lsn as `__$start_lsn`,
    cast(null as string) as `__$end_lsn`,
    lsn as `__$seqval`,
    row_operation as `__$operation`,
    if(row_operation < 3, '0x0F', concat('0x', lpad(hex(mask_1), 2, '0'))) as `__$update_mask`,
    value.*,
    command_id as `__$command_id`
from typed
where if(is_misfit, raise_error(concat(
    'CDC 22859: bad log record of table dbo.orders, lsn ', lsn,
    ' (dbt_packages/dbt_cdc/docs/errors.md)')), row_operation < 3 or mask_1 <> 0)
