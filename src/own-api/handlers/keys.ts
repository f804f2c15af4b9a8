import { DomainError, unsavedBy } from '../../core/errors.js';
import { changeKey } from '../../core/keys/change-key.js';
import { seesOwnAlone } from '../../core/keys/key-makers.js';
import type { KeyEntry } from '../../core/keys/types.js';
import { heldFor } from '../../core/long-polls.js';
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
  withBody,
} from '../call.js';
import { OwnError } from '../errors.js';
import type { ChangedKey, ChangedKeys, KeyChanges, Place } from '../key-changes.js';
import type { ChangesPage, Listing } from '../key-pages.js';
import { DEFAULT_LIMIT } from '../operation.js';
import type { KeyPatch, WireKey } from '../rows/keys.js';
import { type EventSource, type StreamEvent, Streams } from '../streams.js';
import { type NoteOf, wireKey } from '../wire-key.js';

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

/** Milliseconds after which a waiting call looks at the state again. */
const LOOK = 10_000;

async function listKeys(call: OwnCall): Promise<OwnAnswer | OwnStream> {
  const { context, request, query } = call;
  const { core, keyChanges } = context;
  const cursor = typeof query.since === 'string' ? query.since : null;
  if (query.noted === 1 && (cursor !== null || Streams.isWanted(request)))
    throw new OwnError('invalidQuery', 'noted: expected a list, and not its changes');
  if (Streams.isWanted(request)) {
    const last = request.headers['last-event-id'];
    return { stream: keyStream(call, cursor ?? (typeof last === 'string' ? last : '')) };
  }
  await core.freshenKeys();
  const since = cursor === null ? null : keyChanges.place(cursor);
  if (query.after !== undefined) return nextPage(call, String(query.after), since);
  if (since === null) return pageOfAll(call, '', { begun: keyChanges.now(), since: null });
  await changeAfter(call, since, heldFor(Number(query.wait ?? 0)));
  return pageOfChanges(call, '', { begun: keyChanges.now(), since });
}

/** Waits for a change worth telling, for a limited time and as long as the caller does. */
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

function nextPage(call: OwnCall, after: string, since: Place | null): Promise<OwnAnswer> {
  const { keyChanges, keyPages } = call.context;
  const listing = keyPages.behind(call.principal.name, after, since);
  if (listing?.since === null) return pageOfAll(call, after, listing);
  if (listing !== null) return pageOfChanges(call, after, listing);
  if (since !== null) return pageOfChanges(call, after, { begun: since, since });
  // Nobody knows when the pages before were told.
  return pageOfAll(call, after, { begun: keyChanges.now(), since: null }, keyChanges.unknown());
}

async function pageOfAll(call: OwnCall, after: string, listing: Listing, cursor?: string): Promise<OwnAnswer> {
  const { core, keyChanges, keyPages, makers, notes, turns } = call.context;
  const limit = Number(call.query.limit ?? DEFAULT_LIMIT);
  await call.awaitPlace();
  const seen = call.query.noted === 1 ? notes.noted(core.keys, call.principal) : makers.seen(core.keys, call.principal);
  const keys = await turns.run(pageSteps(seen, after, limit));
  const last = keys.at(-1)?.accessKey;
  if (last !== undefined && keys.length === limit && cursor === undefined)
    keyPages.note(call.principal.name, last, listing);
  const head = encodeJson({ cursor: cursor ?? keyChanges.cursor(listing.begun), whole: true });
  const texts = await turns.run(textSteps(keys, notes.shownTo(call.principal)));
  return { payload: successEnvelopeOf(`${head.slice(0, -1)},"keys":[${texts.join()}],"removed":[]}`) };
}

function* textSteps(keys: readonly KeyEntry[], noteOf: NoteOf): Steps<readonly string[]> {
  const texts: string[] = [];
  for (const some of pieces(keys, KEYS)) {
    texts.push(some.map((key) => encodeJson(wireKey(key, noteOf))).join());
    yield;
  }
  return texts;
}

async function pageOfChanges(call: OwnCall, after: string, listing: Listing): Promise<OwnAnswer> {
  const { context, principal, query } = call;
  const { keyChanges, keyPages, notes, sharedChanges } = context;
  const { begun, since } = listing;
  if (since === null) return pageOfAll(call, '', { begun: keyChanges.now(), since: null });
  const limit = Number(query.limit ?? DEFAULT_LIMIT);
  await call.awaitPlace();
  // Callers who waited for the same change and may know as much get the same answer, unless they see only their own keys.
  const isShared = after === '' && !seesOwnAlone(principal);
  const showsNotes = notes.areShownTo(principal);
  const question = [
    since.records,
    since.counters,
    begun.records,
    begun.counters,
    begun.toldAt,
    limit,
    showsNotes,
  ].join();
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
  { context: { keyChanges, makers, notes, turns }, principal }: OwnCall,
  after: string,
  limit: number,
  { begun, since }: { readonly begun: Place; readonly since: Place },
): Promise<ChangesPage | null> {
  const changed = await keyChanges.after(since);
  if (changed === null) return null;
  const seen = changed.keys.filter(({ accessKey }) => makers.sees(principal, accessKey));
  const page = await turns.run(pageSteps(seen, after, limit));
  const next = page.length === limit ? (page.at(-1)?.accessKey ?? null) : null;
  return {
    answer: { payload: successEnvelopeOf(keyChanges.text(begun, false, page, notes.shownTo(principal))) },
    next,
  };
}

/** Keys of one event. */
const KEYS = 1_000;

/** The changes after a cursor as they come; all keys first, where these are not known. */
export function keyStream({ context, principal }: Pick<OwnCall, 'context' | 'principal'>, cursor: string): EventSource {
  const { core, keyChanges, keysWaiting, makers, notes, turns } = context;
  const telling = { keyChanges, turns, noteOf: notes.shownTo(principal) };
  return async function* (signal) {
    await follow(context, LOOK);
    let place = keyChanges.place(cursor);
    while (!signal.aborted && !keysWaiting.isReleased) {
      if (place === null) {
        place = keyChanges.now();
        yield* eventsOf(telling, place, wholeKeys(makers.seen(core.keys, principal)), true);
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
      if (changed !== null && keys.length > 0) yield* eventsOf(telling, changed.place, keys, false);
    }
  };
}

function* wholeKeys(keys: Iterable<KeyEntry>): Generator<ChangedKey, void> {
  for (const { accessKey } of keys) yield { accessKey, isWhole: true };
}

/** Changed keys in events, of which the first says whether these are all keys, and the last alone is gone on from. */
async function* eventsOf(
  { keyChanges, turns, noteOf }: { readonly keyChanges: KeyChanges; readonly turns: Turns; readonly noteOf: NoteOf },
  place: Place,
  keys: Iterable<ChangedKey>,
  isWhole: boolean,
): AsyncGenerator<StreamEvent, void> {
  let whole = isWhole;
  let waiting: readonly ChangedKey[] = [];
  for (const some of pieces(keys, KEYS)) {
    if (waiting.length > 0) {
      await turns.next();
      yield { event: 'keys', data: keyChanges.text(place, whole, waiting, noteOf) };
      whole = false;
    }
    waiting = some;
  }
  await turns.next();
  yield { event: 'keys', id: keyChanges.cursor(place), data: keyChanges.text(place, whole, waiting, noteOf) };
}

async function presentKey(
  { context: { core, makers, notes }, principal }: OwnCall,
  accessKey: string,
): Promise<WireKey> {
  const found = await core.key(accessKey);
  if (found === undefined || !makers.sees(principal, accessKey)) throw new DomainError('userNotFound');
  return wireKey(found, notes.shownTo(principal));
}

export const KEY_HANDLERS = {
  listKeys,
  getKey: async (call) => answer(await presentKey(call, call.params.key ?? '')),
  getSubscription: async ({ context: { core, servesTokens }, params: { key = '' } }) => {
    if ((await core.key(key)) === undefined) throw new DomainError('userNotFound');
    if (!servesTokens) return answer({ path: null });
    const { prefix } = (await core.published()).subscription;
    return answer({ path: `${prefix}/${subscriptionToken(key)}` });
  },
  patchKey: withBody<KeyPatch>(async (call, { name, limit_bytes: limitBytes, note }) => {
    const { key = '' } = call.params;
    const update = { ...(name === undefined ? {} : { name }), ...(limitBytes === undefined ? {} : { limitBytes }) };
    const { backend, notes } = call.context;
    const isChange = name !== undefined || limitBytes !== undefined;
    const asked = { op: 'update', accessKey: key, update } as const;
    const unsaved = isChange ? await unsavedBy(changeKey(backend, asked, { refuses: true })) : null;
    if (note !== undefined) {
      await presentKey(call, key);
      await notes.put(key, note);
    }
    return answerOfChange(await presentKey(call, key), unsaved);
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
