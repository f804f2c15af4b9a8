-- A rotation is one transaction with what Keyway keeps beside the key. Version 2 was landed with two texts of `change_keys`: from here
-- on every database has the later one, which takes every call of a Keyway of version 2.

-- Makes changes of keys in their order, in the write of this number, which holds the head of the counters. Answers what became of
-- each: 0, or the core's error and a detail. A create says all columns, a rotation the key that comes in the place of another; a
-- `stay` behind it, which a Keyway of version 2 sends, is a create that finds the old key where it was.
create or replace function keyway.make_changes(taken bigint, ops text[], keys text[], successors text[], {{sets_$column boolean[], new_$column $array}})
returns text[] language plpgsql as $$
declare
  outcomes text[] := '{}';
  changed record;
  touched bigint;
begin
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
  return outcomes;
end $$;

-- Makes many changes of keys, and notes what became of each under `note`. Where that is noted already, nothing is made again.
create or replace function keyway.change_keys(op uuid, note text, ops text[], keys text[], successors text[], {{sets_$column boolean[], new_$column $array}})
returns keyway.written language plpgsql as $$
declare
  taken bigint := keyway.take_change(op);
  outcomes text[];
begin
  if exists (select from keyway.kept_records r where r.kind = 'jobs' and r.id = note and r.body is not null) then
    return keyway.refuse(op, taken, 'conflict');
  end if;
  -- Whoever changes many counters holds their head, so that no two wait for rows of one another.
  perform from keyway.heads h where h.name = 'counters' for update;
  outcomes := keyway.make_changes(taken, ops, keys, successors, {{sets_$column, new_$column}});
  insert into keyway.kept_records (kind, id, body, number)
  values ('jobs', note, '[' || array_to_string(outcomes, ',') || ']', taken)
  on conflict (kind, id) do update set body = excluded.body, number = taken;
  return (taken, 'done')::keyway.written;
end $$;

-- Puts a key in the place of another and changes records as `change_records` does, both or neither.
create or replace function keyway.rotate_key(op uuid, key text, successor text, kinds text[], ids text[], bodies text[], checks boolean[], expected text[])
returns keyway.written language plpgsql as $$
declare
  taken bigint := keyway.take_change(op);
begin
  if exists (select from unnest(kinds, ids, expected, checks) as g (kind, id, body, is_checked)
    left join keyway.kept_records r on r.kind = g.kind and r.id = g.id
    where g.is_checked and r.body is distinct from g.body) then
    return keyway.refuse(op, taken, 'conflict');
  end if;
  perform from keyway.heads h where h.name = 'counters' for update;
  if keyway.make_changes(taken, array['rotate'], array[key], array[successor], {{null, null}}) <> array['0'] then
    return keyway.refuse(op, taken, 'userNotFound');
  end if;
  insert into keyway.kept_records (kind, id, body, number)
  select g.kind, g.id, g.body, taken from unnest(kinds, ids, bodies) as g (kind, id, body)
  on conflict (kind, id) do update set body = excluded.body, number = taken;
  return (taken, 'done')::keyway.written;
end $$;
