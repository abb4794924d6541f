-- depends_on: schema_of_target.dbo_orders_ct
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

parsed as (
    select
        *,
        from_json(
                concat(
                    '{"images":[', coalesce(before_image, '{}'),
                    ',', coalesce(after_image, '{}'), ']}'
                ),
                'images array<struct<`id`: int, `note`: string, `amount`: decimal(9,2), `at`: timestamp>>, malformed string',
                map(
                    'columnNameOfCorruptRecord', 'malformed',
                    'allowSingleQuotes', 'false',
                    'allowNonNumericNumbers', 'false'
                )
            ) as json
    from records
),

paired as (
    select
        *,
        json.images[0] as before,
        json.images[1] as after,
        if(
            contains(before_image, '": '), replace(before_image, '": ', '":'), before_image
        ) as before_text,
        if(
            contains(after_image, '": '), replace(after_image, '": ', '":'), after_image
        ) as after_text,
        json.malformed is null and size(json.images) = 2 as is_json
    from parsed
),

compared as (
    select
        *,
        if(operation = 'UPDATE', cast(0 as bigint)
                + if(before.`id` <=> after.`id`, 0, 1)
                + if(before.`note` <=> after.`note`, 0, 2)
                + if(before.`amount` <=> after.`amount`, 0, 4)
                + if(before.`at` <=> after.`at`, 0, 8), 0) as mask_1,
        operation = 'UPDATE' and not (before.`id` <=> after.`id`) as is_key_change
    from paired
),

exploded as (
    select
        *,
        explode(case
                when operation = 'INSERT' then array(named_struct('row_operation', 2, 'image', after, 'text', after_text))
                when operation = 'DELETE' then array(named_struct('row_operation', 1, 'image', before, 'text', before_text))
                when is_key_change then array(named_struct('row_operation', 1, 'image', before, 'text', before_text), named_struct('row_operation', 2, 'image', after, 'text', after_text))
                when mask_1 <> 0 then array(named_struct('row_operation', 3, 'image', before, 'text', before_text), named_struct('row_operation', 4, 'image', after, 'text', after_text))
                else array(named_struct('row_operation', 0, 'image', before, 'text', before_text), named_struct('row_operation', 0, 'image', after, 'text', after_text))
            end) as change
    from compared
),

changes as (
    select
        *,
        change.row_operation,
        change.image,
        change.text
    from exploded
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
    image.`id`,
    image.`note`,
    image.`amount`,
    image.`at`,
    command_id as `__$command_id`
from changes
where
    if(
        is_json
            and image is not null
            and text is not null
            and not ((contains(text, ':{') or contains(text, ':[')) and text rlike '(?<!\\\\)":[{\\[]')
            and (image.`id` is not null
                or contains(text, '"id":null'))
            and ((
                contains(text, '"note":"')
                or image.`note` rlike '^(-?[1-9][0-9]*|true|false)$'
                or image.`note` = '0' and not contains(text, '"note":-')
            )
            and char_length(image.`note`)
            <= 20
                or contains(text, '"note":null'))
            and (image.`amount` is not null and (
                contains(text, concat('"amount":"', cast(image.`amount` as string), '"'))
                or text rlike '"amount":"?-?[0-9]+([.][0-9]{0,2}0*)?"?\\s*[,}]'
            )
                or contains(text, '"amount":null'))
            and (image.`at` is not null
            and text rlike '"at":"[0-9]{4}-[0-9]{2}-'
                or contains(text, '"at":null')),
        row_operation,
        cast(raise_error('an image has to be read with care') as int)
    ) > 0
