import { DomainError } from '../../core/errors.js';
import { seesOwnAlone } from '../../core/keys/key-makers.js';
import type { KeyEntry } from '../../core/keys/types.js';
import { type MaybeAsync, mapMaybeAsync } from '../../core/maybe-async.js';
import type { KeySnapshot } from '../../core/model.js';
import { Pace, pieces, type Steps, type Turns } from '../../core/steps.js';
import { subscriptionAddress } from '../../subscription/offer.js';
import { subscriptionToken } from '../../subscription/token.js';
import { successEnvelopeOf } from '../../wire/envelope.js';
import { encodeJson } from '../../wire/json/write-json.js';
import {
  answer,
  answerOfChange,
  follow,
  idempotencyKeyOf,
  type OwnAnswer,
  type OwnCall,
  type OwnHandler,
  type OwnStream,
  unsavedBy,
  withBody,
} from '../call.js';
import type { ChangedKey, ChangedKeys, KeyChanges, Place } from '../key-changes.js';
import type { ChangesPage, Listing } from '../key-pages.js';
import { DEFAULT_LIMIT } from '../operation.js';
import type { KeyPatch } from '../rows/keys.js';
import { type EventSource, type StreamEvent, Streams } from '../streams.js';
import { wireKey } from '../wire-key.js';

/** The keys behind one, in the order of their texts. Keys that come and go meanwhile move no other from its page. */
function* pageSteps<Key extends { readonly accessKey: string }>(
  keys: Iterable<Key>,
  after: string,
  limit: number,
): Steps<readonly Key[]> {
  const pace = new Pace();
  const firstOf = (found: readonly Key[]) =>
    found.toSorted((a, b) => (a.accessKey < b.accessKey ? -1 : 1)).slice(0, limit);
  let found: Key[] = [];
  let last: string | undefined;
  for (const key of keys) {
    if (pace.isDue()) yield;
    if (key.accessKey <= after || (last !== undefined && key.accessKey > last)) continue;
    found.push(key);
    if (found.length < 2 * limit) continue;
    // Sorting all of 100,000 keys for each page would hold everybody up.
    found = firstOf(found);
    last = found.at(-1)?.accessKey;
    yield;
  }
  return firstOf(found);
}

/** Milliseconds that who waits goes without a look at the state. */
const LOOK = 10_000;

async function listKeys(call: OwnCall): Promise<OwnAnswer | OwnStream> {
  const { context, request, query } = call;
  const { core, keyChanges } = context;
  const cursor = typeof query.since === 'string' ? query.since : null;
  if (Streams.isWanted(request)) {
    const last = request.headers['last-event-id'];
    return { stream: keyStream(call, cursor ?? (typeof last === 'string' ? last : '')) };
  }
  await core.freshenKeys();
  const since = cursor === null ? null : keyChanges.place(cursor);
  if (query.after !== undefined) return nextPage(call, String(query.after), since);
  if (since === null) return pageOfAll(call, '', { begun: keyChanges.now(), since: null });
  await changeAfter(call, since, Number(query.wait ?? 0) * 1000);
  return pageOfChanges(call, '', { begun: keyChanges.now(), since });
}

/** Waits for something to tell, for so many milliseconds at most, while the caller does. */
async function changeAfter({ context, request }: OwnCall, since: Place, milliseconds: number): Promise<void> {
  const { clock, keyChanges, keysWaiting } = context;
  const { socket } = request.raw;
  const controller = new AbortController();
  const abort = () => controller.abort();
  socket.once('close', abort);
  try {
    const until = clock.monotonic() + milliseconds;
    for (let left = milliseconds; left > 0 && !socket.destroyed; left = until - clock.monotonic()) {
      await follow(context, left);
      const due = keyChanges.due(since) * 1000;
      if (due === 0 || keysWaiting.isReleased) return;
      await keysWaiting.until(Math.min(due, left), controller.signal);
    }
  } finally {
    socket.off('close', abort);
  }
}

function nextPage(call: OwnCall, after: string, since: Place | null): MaybeAsync<OwnAnswer> {
  const { keyChanges, keyPages } = call.context;
  const listing = keyPages.behind(call.principal.name, after, since);
  if (listing?.since === null) return pageOfAll(call, after, listing);
  if (listing !== null) return pageOfChanges(call, after, listing);
  if (since !== null) return pageOfChanges(call, after, { begun: since, since });
  // Nobody knows when the pages before were told.
  return pageOfAll(call, after, { begun: keyChanges.now(), since: null }, keyChanges.unknown());
}

async function pageOfAll(call: OwnCall, after: string, listing: Listing, cursor?: string): Promise<OwnAnswer> {
  const { core, keyChanges, keyPages, makers, turns } = call.context;
  const limit = Number(call.query.limit ?? DEFAULT_LIMIT);
  const keys = await turns.run(pageSteps(makers.seen(core.keys, call.principal), after, limit));
  const last = keys.at(-1)?.accessKey;
  if (last !== undefined && keys.length === limit && cursor === undefined)
    keyPages.note(call.principal.name, last, listing);
  const head = encodeJson({ cursor: cursor ?? keyChanges.cursor(listing.begun), whole: true });
  const texts = await turns.run(textSteps(keys));
  return { payload: successEnvelopeOf(`${head.slice(0, -1)},"keys":[${texts.join()}],"removed":[]}`) };
}

function* textSteps(keys: readonly KeyEntry[]): Steps<readonly string[]> {
  const texts: string[] = [];
  for (const some of pieces(keys, KEYS)) {
    texts.push(some.map((key) => encodeJson(wireKey(key))).join());
    yield;
  }
  return texts;
}

async function pageOfChanges(call: OwnCall, after: string, listing: Listing): Promise<OwnAnswer> {
  const { context, principal, query } = call;
  const { keyChanges, keyPages, sharedChanges } = context;
  const { begun, since } = listing;
  if (since === null) return pageOfAll(call, '', { begun: keyChanges.now(), since: null });
  const limit = Number(query.limit ?? DEFAULT_LIMIT);
  // Those who waited for the same change are told the same, unless each sees keys of his own.
  const isShared = after === '' && !seesOwnAlone(principal);
  const question = [since.records, since.counters, begun.records, begun.counters, begun.toldAt, limit].join();
  const page = await (isShared
    ? sharedChanges.of(placeText(keyChanges.now()), question, () => changesIn(call, after, limit, { begun, since }))
    : changesIn(call, after, limit, { begun, since }));
  if (page === null) return pageOfAll(call, '', { begun: keyChanges.now(), since: null });
  if (page.next !== null) keyPages.note(principal.name, page.next, listing);
  return page.answer;
}

const placeText = ({ records, counters, toldAt }: Place): string => [records, counters, toldAt].join();

/** A page of changes, with its last key where there may be more; null where these are not known any more. */
async function changesIn(
  { context: { keyChanges, makers, turns }, principal }: OwnCall,
  after: string,
  limit: number,
  { begun, since }: { readonly begun: Place; readonly since: Place },
): Promise<ChangesPage | null> {
  const changed = await keyChanges.after(since);
  if (changed === null) return null;
  const seen = changed.keys.filter(({ accessKey }) => makers.sees(principal, accessKey));
  const page = await turns.run(pageSteps(seen, after, limit));
  const next = page.length === limit ? (page.at(-1)?.accessKey ?? null) : null;
  return { answer: { payload: successEnvelopeOf(keyChanges.text(begun, false, page)) }, next };
}

/** Keys of one event. */
const KEYS = 1_000;

/** The changes after a cursor as they come; all keys first, where these are not known. */
export function keyStream({ context, principal }: Pick<OwnCall, 'context' | 'principal'>, cursor: string): EventSource {
  const { core, keyChanges, keysWaiting, makers, turns } = context;
  return async function* (signal) {
    await follow(context, LOOK);
    let place = keyChanges.place(cursor);
    while (!signal.aborted && !keysWaiting.isReleased) {
      if (place === null) {
        place = keyChanges.now();
        yield* eventsOf(keyChanges, turns, place, wholeKeys(makers.seen(core.keys, principal)), true);
      }
      await follow(context, LOOK);
      const due = keyChanges.due(place) * 1000;
      if (due > 0) {
        await keysWaiting.until(Math.min(due, LOOK), signal);
        continue;
      }
      const changed: ChangedKeys | null = await keyChanges.after(place, {
        withCounters: keyChanges.areCountersDue(place),
      });
      place = changed?.place ?? null;
      const keys = changed?.keys.filter(({ accessKey }) => makers.sees(principal, accessKey)) ?? [];
      if (changed !== null && keys.length > 0) yield* eventsOf(keyChanges, turns, changed.place, keys, false);
    }
  };
}

function* wholeKeys(keys: Iterable<KeyEntry>): Generator<ChangedKey, void> {
  for (const { accessKey } of keys) yield { accessKey, isWhole: true };
}

/** Changed keys in events, of which the first says whether these are all keys, and the last alone is gone on from. */
async function* eventsOf(
  changes: KeyChanges,
  turns: Turns,
  place: Place,
  keys: Iterable<ChangedKey>,
  isWhole: boolean,
): AsyncGenerator<StreamEvent, void> {
  let whole = isWhole;
  let waiting: readonly ChangedKey[] = [];
  for (const some of pieces(keys, KEYS)) {
    if (waiting.length > 0) {
      await turns.next();
      yield { event: 'keys', data: changes.text(place, whole, waiting) };
      whole = false;
    }
    waiting = some;
  }
  await turns.next();
  yield { event: 'keys', id: changes.cursor(place), data: changes.text(place, whole, waiting) };
}

function presentKey({ context: { core, makers }, principal }: OwnCall, accessKey: string): MaybeAsync<KeySnapshot> {
  return mapMaybeAsync(core.key(accessKey), (found) => {
    if (found === undefined || !makers.sees(principal, accessKey)) throw new DomainError('userNotFound');
    return found;
  });
}

export const KEY_HANDLERS = {
  listKeys,
  getKey: (call) => mapMaybeAsync(presentKey(call, call.params.key ?? ''), (key) => answer(wireKey(key))),
  getSubscription: async ({ context: { core, servesTokens }, params: { key = '' } }) => {
    if ((await core.key(key)) === undefined) throw new DomainError('userNotFound');
    if (!servesTokens) return answer({ path: null });
    const { prefix } = (await core.published()).subscription;
    return answer({ path: `${prefix}/${subscriptionToken(key)}` });
  },
  patchKey: withBody<KeyPatch>(async (call, { name, limit_bytes: limitBytes }) => {
    const { key = '' } = call.params;
    const update = { ...(name === undefined ? {} : { name }), ...(limitBytes === undefined ? {} : { limitBytes }) };
    const { backend } = call.context;
    const isChange = name !== undefined || limitBytes !== undefined;
    const unsaved = isChange ? await unsavedBy((backend.refusing ?? backend).updateKey(key, update)) : null;
    return answerOfChange(wireKey(await presentKey(call, key)), unsaved);
  }),
  rotateKey: async (call) => {
    const { context, principal, params } = call;
    const rotated = await context.rotations.rotate(params.key ?? '', principal.name, idempotencyKeyOf(call));
    return answerOfChange({ access_key: rotated.successor }, rotated.unsaved);
  },
  async handOutAddress({ context: { core, addresses, offerFacts }, params: { key = '' } }) {
    if ((await core.key(key)) === undefined) throw new DomainError('userNotFound');
    const token = await addresses.handOut(key);
    return answer({ token, ...subscriptionAddress(await offerFacts(), token) });
  },
  async takeBackAddress({ context: { addresses }, params: { key = '' } }) {
    await addresses.takeBack(key);
    return answer(null);
  },
} as const satisfies Readonly<Record<string, OwnHandler>>;
