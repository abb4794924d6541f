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
            'images array<struct<`column_0`: bigint, `column_1`: int, `column_2`: string,
            `column_3`: string, `column_4`: decimal(38,18), `column_5`: boolean, `column_6`: string,
            `column_7`: double, `column_8`: string, `column_9`: string>>, bad string',
            map('columnNameOfCorruptRecord', 'bad', 'locale', 'ff-Adlm-u-nu-latn',
                'allowSingleQuotes', 'false')
        ) as json
    from schema_of_target.raw_log as log
    inner join schema_of_target.scan_transactions as committed
        on log.tran_id = committed.tran_id
        and log.lsn between committed.begin_lsn and committed.commit_lsn
    where committed.window_to_lsn = '0x00000000000000000000'
        and committed.commit_lsn > '0x00000000000000000000'
        and log.source_schema = 'dbo' and log.source_name = 'ten'
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
            isnull(old.`column_0` = post.`column_0`) or isnull(old.`column_1` = post.`column_1`)
            or isnull(old.`column_2` = post.`column_2`) or isnull(old.`column_3` = post.`column_3`)
            or isnull(old.`column_4` = post.`column_4`) or isnull(old.`column_5` = post.`column_5`)
            or isnull(old.`column_6` = post.`column_6`) or isnull(old.`column_7` = post.`column_7`)
            or isnull(old.`column_8` = post.`column_8`) or isnull(old.`column_9` = post.`column_9`)
        ), array('column_0', 'column_1', 'column_2', 'column_3', 'column_4', 'column_5', 'column_6',
            'column_7', 'column_8', 'column_9'), null) as names,
        array_except(names, json_object_keys(after_image)) as kept,
        array_except(array_except(names, json_object_keys(before_image)), kept) as missing,
        if(size(kept) > 0, named_struct(
            'column_0', (if(array_contains(kept, 'column_0'), old, post)).`column_0`,
            'column_1', (if(array_contains(kept, 'column_1'), old, post)).`column_1`,
            'column_2', (if(array_contains(kept, 'column_2'), old, post)).`column_2`,
            'column_3', (if(array_contains(kept, 'column_3'), old, post)).`column_3`,
            'column_4', (if(array_contains(kept, 'column_4'), old, post)).`column_4`,
            'column_5', (if(array_contains(kept, 'column_5'), old, post)).`column_5`,
            'column_6', (if(array_contains(kept, 'column_6'), old, post)).`column_6`,
            'column_7', (if(array_contains(kept, 'column_7'), old, post)).`column_7`,
            'column_8', (if(array_contains(kept, 'column_8'), old, post)).`column_8`,
            'column_9', (if(array_contains(kept, 'column_9'), old, post)).`column_9`
        ), post) as new,
        if(old.`column_0` <=> new.`column_0`, 0L, 1) + if(old.`column_1` <=> new.`column_1`, 0, 2)
        + if(old.`column_2` <=> new.`column_2`, 0, 4) + if(old.`column_3` <=> new.`column_3`, 0, 8)
        + if(old.`column_4` <=> new.`column_4`, 0, 16)
        + if(old.`column_5` <=> new.`column_5`, 0, 32)
        + if(try_cast(old.`column_6` as date) <=> try_cast(new.`column_6` as date), 0, 64)
        + if(old.`column_7` <=> new.`column_7`, 0, 128)
        + if(try_cast(old.`column_8` as timestamp)
            <=> try_cast(new.`column_8` as timestamp), 0, 256)
        + if(try_to_binary(old.`column_9`, 'base64')
            <=> try_to_binary(new.`column_9`, 'base64'), 0, 512) as mask_1,
        mask_1 & 1 <> 0 as is_key_change
    from parsed
),

typed as (
    select
        *,
        named_struct(
            'column_0', image.`column_0`, 'column_1', try_cast(image.`column_1` as smallint),
            'column_2', image.`column_2`, 'column_3', image.`column_3`,
            'column_4', try_cast(image.`column_4` as decimal(12,2)), 'column_5', image.`column_5`,
            'column_6', try_cast(image.`column_6` as date), 'column_7', image.`column_7`,
            'column_8', try_cast(image.`column_8` as timestamp),
            'column_9', try_to_binary(image.`column_9`, 'base64')
        ) as value,
        contains(text, '0000000') or contains(text, '9999999') as has_run,
        text rlike '[0-9.]{16}' as has_digits,
        if(contains(text, '\\u'), regexp_extract_all(text,
            concat('"((?:[^"\\\\]|\\\\.)*+)"\\s*:\\s*"',
            '(?i:[^"\\\\]|\\\\(?!ud[89a-f]).|\\\\ud[89ab]..\\\\ud[c-f])*+\\\\')), null) as halves,
        old is null or post is null or json.bad is not null or size(json.images) <> 2
        or not image.`column_2` rlike '^(?s)(?!-?\\d+[.]|0$|"|[{\\[].*(\\d[.]\\d|"(NaN|-?Infi)))'
            and replace(text, '"column_2":' || image.`column_2`, '\Z')
                rlike '\\x1a[^,}\\s]|"column_2"\\s*:\\s*(-?\\d+[.eE]|-0|[-+]?[{\\[NI])'
        or not image.`column_3` rlike '^(?s)(?!-?\\d+[.]|0$|"|[{\\[].*(\\d[.]\\d|"(NaN|-?Infi)))'
            and replace(text, '"column_3":' || image.`column_3`, '\Z')
                rlike '\\x1a[^,}\\s]|"column_3"\\s*:\\s*(-?\\d+[.eE]|-0|[-+]?[{\\[NI])'
        or (has_run or image.`column_4` = 0) and text rlike '"column_4"\\s*:\\s*"?-?'
            || '(\\d*[.]\\d{18}\\d*[1-9]|(?![^-]{1,11}-\\d\\D)[\\d.]*[1-9][\\d.]*[eE]-)'
        or has_digits and (text rlike '"column_7"\\s*:\\s*-?'
                || '(\\d{39}|(?=\\d+[.eE])[0.]*[1-9]([.]?\\d){16,}[.]?[1-9])'
            or try_cast(regexp_extract(text, '"column_7"\\s*:\\s*(-?'
                || '[1-9]\\d{14}(?:[1-9]|\\d+[1-9]0*))([.]0*)?(?=[,}\\s])', 1
            ) as decimal(38,0)) not in (
                coalesce(try_cast(value.`column_7` as decimal(38,0)), 0),
                coalesce(nullif(try_cast(value.`column_7` as bigint), 9223372036854775807), 0)
            ))
        or size(missing) > 0 or not image.`column_1` <=> value.`column_1`
        or array_contains(halves, 'column_2') or char_length(value.`column_2`) > 40
        or array_contains(halves, 'column_3') or not image.`column_4` <=> value.`column_4`
        or coalesce(abs(year(value.`column_6`)) > 99999, true) <> isnull(image.`column_6`)
        or not image.`column_6` rlike '^[-+]?\\d{4,}-\\d+-\\d+([T ][-+ 0:.]+Z?|Z)?\\z'
        or isnan(value.`column_7` - value.`column_7`) and text rlike '"column_7"\\s*:\\s*[^"\\s]'
        or coalesce(abs(year(value.`column_8`)) > 99999, true) <> isnull(image.`column_8`)
        or not image.`column_8` rlike '^[-+]?\\d{4,}-\\d+-\\d'
        or isnull(value.`column_9`) <> isnull(image.`column_9`) or length(image.`column_9`) % 4 <> 0
            as is_misfit
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
    if(row_operation < 3, '0x03FF', concat('0x', lpad(hex(mask_1), 4, '0'))) as `__$update_mask`,
    value.*,
    command_id as `__$command_id`
from typed
where if(is_misfit, raise_error(concat(
    'CDC 22859: bad log record of table dbo.ten, lsn ', lsn,
    ' (dbt_packages/dbt_cdc/docs/errors.md)')), row_operation < 3 or mask_1 <> 0)
