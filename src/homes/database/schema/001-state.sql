-- What Keyways share. Whoever writes calls one function in one statement, which commits by itself. The first thing it does is
-- to take the next number of a head row: so numbers rise as commits do, and a reader that has seen all up to one number has
-- missed nothing. Each later statement of a function sees what was committed before that row was locked.

-- What tells this state from every other one; a copy has it, too.
create table keyway.identity (
  id uuid primary key
);
insert into keyway.identity values (gen_random_uuid());

create table keyway.heads (
  name text primary key,
  number bigint not null
) with (fillfactor = 50);

-- Every write by the random id that its gateway gave it, which is also the mark of its number.
create table keyway.operations (
  id uuid primary key,
  -- Both null: the write was prevented before it came, and never happens.
  head text,
  number bigint,
  -- `done`, `prevented`, or the error that the write ended with.
  outcome text not null,
  at timestamptz not null default clock_timestamp()
);
create unique index operations_number on keyway.operations (head, number);
create index operations_at on keyway.operations (at);

insert into keyway.heads values ('state', 0), ('counters', 0);
insert into keyway.operations (id, head, number, outcome)
  select gen_random_uuid(), name, number, 'done' from keyway.heads;

-- Braces are repeated for each column of a key's record (`key-columns.ts`).
create table keyway.keys (
  access_key text collate "C" primary key,
  {{$column $type}},
  -- Of the last write of this row.
  number bigint not null,
  -- The order of registration: the write that registered the key, and the key's place in it.
  position bigint not null,
  ordinal integer not null,
  -- A tombstone, so that followers learn of the removal.
  removed boolean not null
);
create index keys_number on keyway.keys (number);

-- What is counted has no index: an update then changes one row in its place.
create table keyway.counters (
  id bigint generated always as identity primary key,
  access_key text collate "C" not null unique,
  -- The write of the state that set these counters to zero.
  incarnation bigint not null,
  -- The last batch that counted here, 0 for none since then.
  number bigint not null,
  -- False for a key made in bulk that nothing has happened to.
  present boolean not null,
  bytes_up numeric(20) not null,
  bytes_down numeric(20) not null,
  created_at timestamptz not null,
  -- When the key left by the configuration; its counters wait for it.
  left_at timestamptz
) with (fillfactor = 70);
create index counters_left on keyway.counters (left_at) where left_at is not null;

-- Which counters a batch has changed.
create table keyway.batches (
  number bigint primary key,
  ids bigint[] not null,
  -- Those of them whose connections have changed.
  connected bigint[] not null,
  -- The places of its keys that were not registered. Told after the commit: an answer with all of them may be longer than what
  -- the network holds for a gateway that stands still, and what is not sent is not committed.
  unknown integer[] not null,
  at timestamptz not null default clock_timestamp()
);
-- They live for minutes: packing them would cost more than it saves.
alter table keyway.batches alter column ids set storage external, alter column connected set storage external,
  alter column unknown set storage external;

-- One process each. What it said of connections counts while it is heard of.
create table keyway.gateways (
  id uuid primary key,
  seen_at timestamptz not null,
  -- Another for one that comes back after it was forgotten, and with it what it said.
  since timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

create table keyway.connections (
  id bigint not null,
  gateway uuid not null,
  value numeric(20) not null,
  primary key (id, gateway)
) with (fillfactor = 70);
create index connections_gateway on keyway.connections (gateway);

create table keyway.reports (
  id text collate "C" primary key,
  place bigint generated always as identity,
  at timestamptz not null default clock_timestamp()
);
create index reports_place on keyway.reports (place);
create index reports_at on keyway.reports (at);

create table keyway.sessions (
  api text primary key,
  -- SHA-256 of the token; null once the session has ended.
  digest bytea,
  number bigint not null
);

create table keyway.audit (
  number bigint primary key,
  id text not null,
  time text not null,
  event_en text not null,
  event_ru text not null,
  success boolean not null
);

-- `server`: what a gateway uses of the configuration besides keys. `audit`: the last change of the audit list.
create table keyway.settings (
  name text primary key,
  number bigint not null,
  value jsonb not null
);

-- Texts of configurations, packed by gzip but for the first.
create table keyway.contents (
  id uuid primary key,
  content bytea not null,
  at timestamptz not null default clock_timestamp()
);
alter table keyway.contents alter column content set storage external;

-- The configuration as it was last put. Changes since then stand in keys and settings.
create table keyway.document (
  name text primary key,
  number bigint not null,
  -- Whether keys and settings were taken from it: not where its mode is not `server`.
  applied boolean not null,
  content uuid not null references keyway.contents
);

insert into keyway.settings (name, number, value) values ('audit', 0, 'null'), ('server', 0, '{}');
with first as (
  insert into keyway.contents (id, content)
  values (gen_random_uuid(), convert_to(E'{\n  "mode": "server",\n  "access_keys": []\n}\n', 'UTF8')) returning id
)
insert into keyway.document (name, number, applied, content) select 'server', 0, true, f.id from first f;

create table keyway.versions (
  id text primary key,
  kept_at timestamptz not null,
  forever boolean not null,
  content uuid not null references keyway.contents
);

-- Keys with their counters, as gateways read them; times are milliseconds since the epoch.
create view keyway.key_rows as
  select k.access_key, k.removed, {{k.$column}}, k.position, k.ordinal, c.incarnation, c.number as counted, c.present,
    c.bytes_up, c.bytes_down, (date_part('epoch', c.created_at) * 1000)::bigint as created_at, k.number
  from keyway.keys k left join keyway.counters c on c.access_key = k.access_key;

create function keyway.max_u64() returns numeric language sql immutable as 'select 18446744073709551615::numeric';

create function keyway.changes_lock() returns bigint language sql immutable as 'select 7737239610487554401';

-- Holds up changes of the state, but for a replacement of the configuration, until the transaction ends.
create function keyway.hold_changes() returns void language sql as 'select pg_advisory_xact_lock(keyway.changes_lock())';

-- Takes the next number for a write. A second write of the same id fails: it was counted, or prevented.
create function keyway.take(op uuid, head_name text) returns bigint language plpgsql as $$
declare
  taken bigint;
begin
  update keyway.heads set number = number + 1 where name = head_name returning number into taken;
  insert into keyway.operations (id, head, number, outcome) values (op, head_name, taken, 'done');
  return taken;
end $$;

-- Takes the next number for a change of the state. It waits where others may not change it for a moment, so that a configuration
-- can be replaced that they go on changing.
create function keyway.take_change(op uuid) returns bigint language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(keyway.changes_lock());
  return keyway.take(op, 'state');
end $$;

-- Waits for the write of this id where it is on its way, and prevents it where it has not come. `forgotten` where nobody can
-- tell: writes are forgotten that came after what its gateway had seen when it sent this one.
create function keyway.settle(op uuid, seen_state bigint, seen_counters bigint, out number bigint, out outcome text)
language plpgsql as $$
begin
  insert into keyway.operations (id, outcome) values (op, 'prevented') on conflict (id) do nothing;
  select o.number, o.outcome into settle.number, settle.outcome from keyway.operations o where o.id = op;
  if outcome <> 'prevented' then
    return;
  end if;
  if (select min(o.number) from keyway.operations o where o.head = 'state') > seen_state + 1
    or (select min(o.number) from keyway.operations o where o.head = 'counters') > seen_counters + 1 then
    outcome := 'forgotten';
  end if;
end $$;

-- What a change of the state answers: its number, and `done` or why it changed nothing.
create type keyway.written as (number bigint, outcome text);

-- Notes that the write of this number changed nothing, and answers that.
create function keyway.refuse(op uuid, taken bigint, reason text) returns keyway.written language sql as $$
  update keyway.operations set outcome = reason where id = op;
  select taken, reason
$$;

-- The key as a write has left it, for the gateway that wrote: where it wrote onto what it had seen, it need not look.
create function keyway.key_after(taken bigint, seen_mark uuid, key text) returns setof keyway.key_rows language plpgsql as $$
begin
  if exists (select from keyway.operations o where o.head = 'state' and o.number = taken - 1 and o.id = seen_mark) then
    return query select * from keyway.key_rows r where r.access_key = key;
  end if;
end $$;

-- Counters at zero, of a new incarnation.
create function keyway.start_counters(keys text[], taken bigint, are_present boolean) returns void language plpgsql as $$
begin
  with started as (
    insert into keyway.counters as c (access_key, incarnation, number, present, bytes_up, bytes_down, created_at)
    select k, taken, 0, are_present, 0, 0, now() from unnest(keys) k
    on conflict (access_key) do update set incarnation = taken, number = 0, present = are_present,
      bytes_up = 0, bytes_down = 0, created_at = now(), left_at = null
    returning c.id
  )
  delete from keyway.connections x using started s where x.id = s.id;
end $$;

-- Registers these keys, in this order; one that is there keeps its place.
create function keyway.put_keys(keys text[], {{given_$column $array}}, taken bigint) returns void
language sql as $$
  insert into keyway.keys as k (access_key, {{$column}}, number, position, ordinal, removed)
  select e.access_key, {{e.$column}}, taken, taken, e.ordinal, false
  from unnest(keys, {{given_$column}}) with ordinality as e (access_key, {{$column}}, ordinal)
  on conflict (access_key) do update set {{$column = excluded.$column}}, number = taken,
    position = case when k.removed then taken else k.position end,
    ordinal = case when k.removed then excluded.ordinal else k.ordinal end,
    removed = false
$$;

create function keyway.create_keys(op uuid, keys text[], {{given_$column $array}}, are_present boolean)
returns keyway.written language plpgsql as $$
declare
  taken bigint := keyway.take_change(op);
begin
  perform keyway.put_keys(keys, {{given_$column}}, taken);
  -- Whoever changes many counters holds their head, so that no two wait for rows of one another.
  if cardinality(keys) > 1 then
    if exists (select from unnest(keys) g cross join lateral (select from keyway.counters c where c.access_key = g limit 1) p) then
      perform from keyway.heads h where h.name = 'counters' for update;
    end if;
  end if;
  perform keyway.start_counters(keys, taken, are_present);
  return (taken, 'done')::keyway.written;
end $$;

create function keyway.update_key(op uuid, key text, {{sets_$column boolean, new_$column $type}})
returns keyway.written language plpgsql as $$
declare
  taken bigint := keyway.take_change(op);
begin
  update keyway.keys k set {{$column = case when sets_$column then new_$column else k.$column end}},
    number = taken where k.access_key = key and not k.removed;
  if not found then
    return keyway.refuse(op, taken, 'userNotFound');
  end if;
  update keyway.counters c set present = true, incarnation = taken, number = 0, created_at = now()
    where c.access_key = key and not c.present;
  return (taken, 'done')::keyway.written;
end $$;

create function keyway.delete_key(op uuid, key text) returns keyway.written language plpgsql as $$
declare
  taken bigint := keyway.take_change(op);
begin
  update keyway.keys k set removed = true, {{$column = null}}, number = taken
    where k.access_key = key and not k.removed;
  if not found then
    return keyway.refuse(op, taken, 'userNotFound');
  end if;
  with gone as (delete from keyway.counters c where c.access_key = key returning c.id)
  delete from keyway.connections x using gone g where x.id = g.id;
  return (taken, 'done')::keyway.written;
end $$;

create function keyway.reset_key(op uuid, key text) returns keyway.written language plpgsql as $$
declare
  taken bigint := keyway.take_change(op);
  reset bigint;
begin
  update keyway.counters c set incarnation = taken, number = 0, bytes_up = 0, bytes_down = 0
    where c.access_key = key and c.present and c.left_at is null returning c.id into reset;
  if reset is null then
    return keyway.refuse(op, taken, 'userNotFound');
  end if;
  delete from keyway.connections x where x.id = reset;
  update keyway.keys k set number = taken where k.access_key = key;
  return (taken, 'done')::keyway.written;
end $$;

create function keyway.replace_rules(op uuid, rules jsonb) returns keyway.written language plpgsql as $$
declare
  taken bigint := keyway.take_change(op);
begin
  update keyway.settings s set number = taken, value = jsonb_set(s.value, '{outbound,rules}', rules)
    where s.name = 'server' and jsonb_typeof(s.value -> 'outbound') = 'object';
  if not found then
    return keyway.refuse(op, taken, 'outboundNotConfigured');
  end if;
  return (taken, 'done')::keyway.written;
end $$;

create function keyway.change_dns(op uuid, change jsonb) returns keyway.written language plpgsql as $$
declare
  taken bigint := keyway.take_change(op);
begin
  update keyway.settings s set number = taken, value = s.value || jsonb_build_object(
      'dns', coalesce(s.value -> 'dns', '{}') || change,
      'dnsFirst', change || coalesce(s.value -> 'dnsFirst', '{}'),
      'dnsChange', coalesce(s.value -> 'dnsChange', '{}') || change)
    where s.name = 'server';
  return (taken, 'done')::keyway.written;
end $$;

-- Registers keys as a configuration lists them, behind so many of its others: one that is there keeps its place. How long the
-- arrays are is hidden behind a select: the planner takes them for short and goes from key to key, by the index. Each piece of an
-- import would read all keys and counters else.
create function keyway.list_keys(keys text[], {{given_$column $array}}, taken bigint, others integer) returns void
language sql as $$
  insert into keyway.keys as k (access_key, {{$column}}, number, position, ordinal, removed)
  select e.access_key, {{e.$column}}, taken, taken, others + e.ordinal, false
  from unnest((select keys), {{(select given_$column)}}) with ordinality as e (access_key, {{$column}}, ordinal)
  left join keyway.keys p on p.access_key = e.access_key
  left join keyway.counters c on c.access_key = e.access_key
  where p.access_key is null or p.removed or ({{p.$column}}) is distinct from ({{e.$column}})
    or c.present is not true
  order by e.ordinal
  on conflict (access_key) do update set {{$column = excluded.$column}}, number = taken,
    position = case when k.removed then taken else k.position end,
    ordinal = case when k.removed then excluded.ordinal else k.ordinal end,
    removed = false
$$;

-- Gives keys that a configuration lists counters at zero where they have none; those that wait for their key come back.
create function keyway.give_counters(keys text[], taken bigint) returns void language sql as $$
  insert into keyway.counters as c (access_key, incarnation, number, present, bytes_up, bytes_down, created_at)
  select g, taken, 0, true, 0, 0, now() from unnest((select keys)) g left join keyway.counters p on p.access_key = g
  where p.present is not true or p.left_at is not null
  on conflict (access_key) do update set left_at = null, present = true,
    incarnation = case when c.present then c.incarnation else taken end
    where c.left_at is not null or not c.present
$$;

-- Replaces the configuration; `version` is the text that it replaces. Where other writes came between `expected` and this
-- one, that text is not what stands there: nothing happens, and the caller looks again.
create function keyway.put_document(op uuid, expected bigint, new_content uuid, is_applied boolean, server jsonb,
  keys text[], {{given_$column $array}}, version text, version_content uuid, version_forever boolean)
returns keyway.written language plpgsql as $$
declare
  taken bigint := keyway.take(op, 'state');
begin
  if taken <> expected + 1 then
    raise exception 'others have written since %', expected using errcode = 'KW001';
  end if;
  if version is not null then
    insert into keyway.versions (id, kept_at, forever, content) values (version, now(), version_forever, version_content);
  end if;
  insert into keyway.document as d (name, number, applied, content) values ('server', taken, is_applied, new_content)
    on conflict (name) do update set number = taken, applied = is_applied, content = new_content;
  if not is_applied then
    return (taken, 'done')::keyway.written;
  end if;
  -- Other credentials end every session.
  if exists (select from keyway.settings s where s.name = 'server' and (s.value -> 'listener' -> 'token',
      s.value -> 'listener' -> 'username', s.value -> 'listener' -> 'passwordHash') is distinct from
      (server -> 'listener' -> 'token', server -> 'listener' -> 'username', server -> 'listener' -> 'passwordHash')) then
    update keyway.sessions s set digest = null, number = taken where s.digest is not null;
  end if;
  insert into keyway.settings as s (name, number, value) values ('server', taken, server)
    on conflict (name) do update set number = taken, value = server;
  -- Whoever changes many counters holds their head, so that no two wait for rows of one another.
  if exists (select from keyway.keys k left join unnest(keys) g on g = k.access_key where not k.removed and g is null)
    or exists (select from keyway.counters c join unnest(keys) g on g = c.access_key where not c.present or c.left_at is not null)
  then
    perform from keyway.heads h where h.name = 'counters' for update;
  end if;
  with given as (select unnest(keys) as access_key),
  gone as (
    update keyway.keys k set removed = true, {{$column = null}}, number = taken
    where not k.removed and not exists (select from given g where g.access_key = k.access_key)
    returning k.access_key
  )
  update keyway.counters c set left_at = now() from gone g where c.access_key = g.access_key;
  perform keyway.list_keys(keys, {{given_$column}}, taken, 0);
  perform keyway.give_counters(keys, taken);
  return (taken, 'done')::keyway.written;
end $$;

create function keyway.begin_session(op uuid, path text, token_digest bytea) returns keyway.written
language plpgsql as $$
declare
  taken bigint := keyway.take_change(op);
begin
  insert into keyway.sessions as s (api, digest, number) values (path, token_digest, taken)
    on conflict (api) do update set digest = token_digest, number = taken;
  return (taken, 'done')::keyway.written;
end $$;

create function keyway.add_audit(op uuid, entry_id text, entry_time text, en text, ru text, is_success boolean,
  most integer) returns keyway.written language plpgsql as $$
declare
  taken bigint := keyway.take_change(op);
begin
  insert into keyway.audit values (taken, entry_id, entry_time, en, ru, is_success);
  delete from keyway.audit a where a.number <=
    (select b.number from keyway.audit b order by b.number desc offset most limit 1);
  update keyway.settings s set number = taken where s.name = 'audit';
  return (taken, 'done')::keyway.written;
end $$;

create function keyway.clear_audit(op uuid) returns keyway.written language plpgsql as $$
declare
  taken bigint := keyway.take_change(op);
begin
  delete from keyway.audit;
  update keyway.settings s set number = taken where s.name = 'audit';
  return (taken, 'done')::keyway.written;
end $$;

create function keyway.see_gateway(gateway uuid) returns void language sql as $$
  insert into keyway.gateways as g (id, seen_at) values (gateway, clock_timestamp())
  on conflict (id) do update set seen_at = clock_timestamp()
$$;

-- Its connections count no more. It is forgotten once the others had time to see that.
create function keyway.leave_gateway(gateway uuid) returns void language sql as
  $$ update keyway.gateways set seen_at = clock_timestamp() - interval '5 minutes' where id = gateway $$;

-- Counts a batch: each key once, with what all its reports come to. Where `known` is given, a key counts only in the
-- incarnation that its gateway knew; connections are null where they are as they were told before. A report that was counted
-- before makes all of it nothing: the caller takes it out. `unknown` is how many keys were not registered; `follows`, that it was
-- counted onto what the gateway had seen: the last batch by its mark, and the state by its number.
create function keyway.count_usage(op uuid, gateway uuid, seen_mark uuid, seen_state bigint, report_ids text[], keys text[],
  known bigint[], up numeric[], down numeric[], connections numeric[],
  out number bigint, out outcome text, out unknown integer, out follows boolean)
language plpgsql as $$
declare
  taken bigint := keyway.take(op, 'counters');
  repeated integer[];
begin
  number := taken;
  outcome := 'done';
  perform keyway.see_gateway(gateway);
  follows := exists (select from keyway.operations o where o.head = 'counters' and o.number = taken - 1 and o.id = seen_mark);
  with fresh as (
    insert into keyway.reports (id) select r from unnest(report_ids) with ordinality as g (r, place) order by place
    on conflict (id) do nothing returning id
  )
  select array_agg(g.place::integer) into repeated
    from unnest(report_ids) with ordinality as g (r, place) where g.r not in (select f.id from fresh f);
  if repeated is not null then
    raise exception '%', array_to_string(repeated[1:1000], ',') using errcode = 'KW002';
  end if;
  -- How long the arrays are is hidden behind a select: the planner takes them for short and goes from key to key, by the index.
  with told as (
    select * from unnest((select keys), (select known), (select up), (select down), (select connections)) with ordinality
      as t (access_key, incarnation, up, down, value, place)
  ), counted as (
    update keyway.counters c set number = taken, present = true,
      created_at = case when c.present then c.created_at else now() end,
      bytes_up = least(c.bytes_up + t.up, 18446744073709551615), bytes_down = least(c.bytes_down + t.down, 18446744073709551615)
    from told t
    where c.access_key = t.access_key and c.left_at is null and (t.incarnation is null or t.incarnation = c.incarnation)
    returning c.id, c.incarnation, t.place, t.value
  ), connected as (
    insert into keyway.connections as x (id, gateway, value)
    select n.id, count_usage.gateway, n.value from counted n where n.value is not null
    on conflict on constraint connections_pkey do update set value = excluded.value
  ), noted as (
    insert into keyway.batches as b (number, ids, connected, unknown)
    select taken, coalesce(array_agg(n.id), '{}'), coalesce(array_agg(n.id) filter (where n.value is not null), '{}'),
      array(select t.place from told t where t.place not in (select m.place from counted m))
    from counted n returning cardinality(b.unknown) as unknown
  )
  select n.unknown, follows and not exists (select from counted c where c.incarnation > seen_state)
    into count_usage.unknown, count_usage.follows from noted n;
end $$;

-- Counters as they are told, instead of what there is; keys that are not registered have left. Times are milliseconds since
-- the epoch. For an import, in the transaction of the configuration's write, piece by piece as `list_keys`.
create function keyway.put_counters(taken bigint, gateway uuid, keys text[], up numeric[], down numeric[],
  connections numeric[], created bigint[], gone bigint[]) returns void language sql as $$
  insert into keyway.counters as c (access_key, incarnation, number, present, bytes_up, bytes_down, created_at, left_at)
  select t.access_key, taken, 0, true, t.up, t.down, timestamptz 'epoch' + t.created * interval '1 millisecond',
    case when k.access_key is null then coalesce(timestamptz 'epoch' + t.gone * interval '1 millisecond', now()) end
  from unnest((select keys), (select up), (select down), (select created), (select gone))
    as t (access_key, up, down, created, gone)
  left join keyway.keys k on k.access_key = t.access_key and not k.removed
  on conflict (access_key) do update set incarnation = taken, number = 0, present = true, bytes_up = excluded.bytes_up,
    bytes_down = excluded.bytes_down, created_at = excluded.created_at, left_at = excluded.left_at;
  update keyway.keys k set number = taken from unnest((select keys)) g where k.access_key = g and k.number <> taken;
  insert into keyway.connections (id, gateway, value)
  select c.id, put_counters.gateway, t.value
  from unnest((select keys), (select connections)) as t (access_key, value)
  join keyway.counters c on c.access_key = t.access_key where t.value > 0
  on conflict on constraint connections_pkey do update set value = excluded.value
$$;

create function keyway.forget_lock() returns bigint language sql immutable as 'select 7737239610487554402';

-- Lets nothing be forgotten until the transaction ends: for an import, which removes the same rows.
create function keyway.hold_forgetting() returns void language sql as 'select pg_advisory_xact_lock(keyway.forget_lock())';

-- What nobody needs any more. A follower that has not seen all that is forgotten misses the mark of its number, and loads anew.
-- It waits for no row that a write holds, which may wait for another of its: what is held the next time forgets.
create function keyway.forget(most_reports bigint, keep_gone interval) returns void language plpgsql as $$
declare
  seen bigint;
  gone uuid[];
begin
  if not pg_try_advisory_xact_lock(keyway.forget_lock()) then
    return;
  end if;
  select max(o.number) into seen from keyway.operations o
    where o.head = 'state' and o.at < clock_timestamp() - interval '1 hour'
      and o.number < (select h.number from keyway.heads h where h.name = 'state');
  delete from keyway.operations o where o.head = 'state' and o.number <= seen;
  delete from keyway.keys k using (
    select r.access_key from keyway.keys r where r.removed and r.number <= seen for update skip locked
  ) free where k.access_key = free.access_key;
  select max(b.number) into seen from keyway.batches b
    where b.at < clock_timestamp() - interval '5 minutes'
      and b.number < (select h.number from keyway.heads h where h.name = 'counters');
  delete from keyway.operations o where o.head = 'counters' and o.number <= seen;
  delete from keyway.batches b where b.number <= seen;
  delete from keyway.operations o where o.head is null and o.at < clock_timestamp() - interval '1 day';
  delete from keyway.reports r where r.at < clock_timestamp() - interval '1 day';
  -- Not by the difference of places alone: a report that is told again uses one up.
  if (select max(r.place) - min(r.place) >= most_reports from keyway.reports r) then
    delete from keyway.reports r where r.place <=
      (select l.place from keyway.reports l order by l.place desc offset most_reports limit 1);
  end if;
  delete from keyway.counters c using (
    select l.id from keyway.counters l where l.left_at < clock_timestamp() - keep_gone for update skip locked
  ) free where c.id = free.id;
  gone := array(select g.id from keyway.gateways g where g.seen_at < clock_timestamp() - interval '10 minutes'
    for update skip locked);
  -- A gateway goes with all that it said, or stays.
  begin
    perform from keyway.connections x where x.gateway = any (gone) for update nowait;
    delete from keyway.connections x where x.gateway = any (gone);
    delete from keyway.gateways g where g.id = any (gone);
  exception when lock_not_available then null;
  end;
  delete from keyway.contents c where c.at < clock_timestamp() - interval '1 hour'
    and not exists (select from keyway.document d where d.content = c.id)
    and not exists (select from keyway.versions v where v.content = c.id);
end $$;
