-- Keyway's own records, and many changes of keys at once. Some databases of version 1 have part of it already: what is there stays.

-- What Keyway keeps for itself, beside the state of the server.
create table if not exists keyway.kept_records (
  kind text collate "C" not null,
  id text collate "C" not null,
  -- JSON, spelled as its gateway did; null for a tombstone, so that followers learn of the removal.
  body text,
  number bigint not null,
  primary key (kind, id)
);
create index if not exists kept_records_number on keyway.kept_records (number);

-- Puts records, each another one, or none of them where one of those that are checked is not what it was expected to be.
create or replace function keyway.change_records(op uuid, kinds text[], ids text[], bodies text[], checks boolean[], expected text[])
returns keyway.written language plpgsql as $$
declare
  taken bigint := keyway.take_change(op);
begin
  if exists (select from unnest(kinds, ids, expected, checks) as g (kind, id, body, is_checked)
    left join keyway.kept_records r on r.kind = g.kind and r.id = g.id
    where g.is_checked and r.body is distinct from g.body) then
    return keyway.refuse(op, taken, 'conflict');
  end if;
  insert into keyway.kept_records (kind, id, body, number)
  select g.kind, g.id, g.body, taken from unnest(kinds, ids, bodies) as g (kind, id, body)
  on conflict (kind, id) do update set body = excluded.body, number = taken;
  return (taken, 'done')::keyway.written;
end $$;

-- Makes many changes of keys in their order, and notes what became of each under `note`: 0, or the core's error and a detail. Where
-- that is noted already, nothing is made again. A create says all columns, a rotation the key that comes in the place of another; a
-- `stay` behind it is a create that finds the old key where it was.
create or replace function keyway.change_keys(op uuid, note text, ops text[], keys text[], successors text[], {{sets_$column boolean[], new_$column $array}})
returns keyway.written language plpgsql as $$
declare
  taken bigint := keyway.take_change(op);
  outcomes text[] := '{}';
  changed record;
  touched bigint;
begin
  if exists (select from keyway.kept_records r where r.kind = 'jobs' and r.id = note and r.body is not null) then
    return keyway.refuse(op, taken, 'conflict');
  end if;
  -- Whoever changes many counters holds their head, so that no two wait for rows of one another.
  perform from keyway.heads h where h.name = 'counters' for update;
  for changed in
    select * from unnest(ops, keys, successors, {{sets_$column, new_$column}})
      with ordinality as g (what, key, successor, {{sets_$column, new_$column}}, ordinal) order by g.ordinal
  loop
    touched := 1;
    if changed.what in ('create', 'stay') then
      insert into keyway.keys as k (access_key, {{$column}}, number, position, ordinal, removed)
      values (changed.key, {{changed.new_$column}}, taken, taken, changed.ordinal, false)
      on conflict (access_key) do update set {{$column = excluded.$column}}, number = taken,
        position = case when k.removed and changed.what = 'create' then taken else k.position end,
        ordinal = case when k.removed and changed.what = 'create' then excluded.ordinal else k.ordinal end,
        removed = false;
      perform keyway.start_counters(array[changed.key], taken, true);
    elsif changed.what = 'update' then
      update keyway.keys k
        set {{$column = case when changed.sets_$column then changed.new_$column else k.$column end}}, number = taken
        where k.access_key = changed.key and not k.removed;
      get diagnostics touched = row_count;
      update keyway.counters c set present = true, incarnation = taken, number = 0, created_at = now()
        where c.access_key = changed.key and not c.present and touched > 0;
    elsif changed.what = 'reset' then
      update keyway.counters c set incarnation = taken, number = 0, bytes_up = 0, bytes_down = 0
        where c.access_key = changed.key and c.present and c.left_at is null;
      get diagnostics touched = row_count;
      delete from keyway.connections x using keyway.counters c
        where c.access_key = changed.key and x.id = c.id and touched > 0;
      update keyway.keys k set number = taken where k.access_key = changed.key and touched > 0;
    else
      if changed.what = 'rotate' then
        insert into keyway.keys as k (access_key, {{$column}}, number, position, ordinal, removed)
        select changed.successor, {{o.$column}}, taken, taken, changed.ordinal, false from keyway.keys o
          where o.access_key = changed.key and not o.removed
        on conflict (access_key) do update set {{$column = excluded.$column}}, number = taken, position = taken,
          ordinal = excluded.ordinal, removed = false;
        get diagnostics touched = row_count;
        perform keyway.start_counters(array[changed.successor], taken, o.present) from keyway.counters o
          where o.access_key = changed.key and touched > 0;
        update keyway.counters c set bytes_up = o.bytes_up, bytes_down = o.bytes_down, created_at = o.created_at
          from keyway.counters o where o.access_key = changed.key and c.access_key = changed.successor and touched > 0;
      end if;
      update keyway.keys k set removed = true, {{$column = null}}, number = taken
        where k.access_key = changed.key and not k.removed;
      get diagnostics touched = row_count;
      with gone as (delete from keyway.counters c where c.access_key = changed.key and touched > 0 returning c.id)
      delete from keyway.connections x using gone g where x.id = g.id;
    end if;
    outcomes := outcomes || case when touched > 0 then '0' else '["userNotFound",""]' end;
  end loop;
  insert into keyway.kept_records (kind, id, body, number)
  values ('jobs', note, '[' || array_to_string(outcomes, ',') || ']', taken)
  on conflict (kind, id) do update set body = excluded.body, number = taken;
  return (taken, 'done')::keyway.written;
end $$;

-- What nobody needs any more. A follower that has not seen all that is forgotten misses the mark of its number, and loads anew.
-- It waits for no row that a write holds, which may wait for another of its: what is held the next time forgets.
create or replace function keyway.forget(most_reports bigint, keep_gone interval) returns void language plpgsql as $$
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
  delete from keyway.kept_records k using (
    select r.kind, r.id from keyway.kept_records r where r.body is null and r.number <= seen for update skip locked
  ) free where k.kind = free.kind and k.id = free.id;
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
