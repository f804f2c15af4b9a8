import { describe, expect, it } from 'vitest';
import { readingOf, textOfFile } from '../../panel/pages/file/content.js';
import type { Path } from '../../panel/pages/file/document.js';
import { fileEditingOf } from '../../panel/pages/file/file-editing.js';
import { wouldLose } from '../../panel/state/drafts.js';
import { parseTree, withValue } from '../../panel/text/json-tree.js';
import { sha256 } from '../../panel/text/sha256.js';
import { gate } from './gate.js';
import { INBOUNDS_FILE, SERVER_FILE } from './server-files.js';
import { type DeskOptions, openDesk, refusal, said, settle } from './without-browser.js';

const COMMENT = '// the address that everybody has';
const COMMENTED = SERVER_FILE.replace('"listen":', `${COMMENT}\n  "listen":`);
const COMMENTED_INBOUNDS = INBOUNDS_FILE.replace('"log":', `${COMMENT}\n  "log":`);

/** A server's file under edit. */
async function fileUnderEdit(options: DeskOptions = {}) {
  const desk = await openDesk('current', { file: COMMENTED, ...options });
  const file = fileEditingOf(desk.workspace);
  await file.start();
  return {
    ...desk,
    file,
    /** Sets the member at a path to this JSON. */
    set(path: Path, json: string): void {
      const { draft } = file.state.get();
      const reading = draft === null ? null : readingOf(draft.now);
      if (reading?.ok !== true) throw new Error('the file was not read');
      file.change(withValue(reading.tree, path, parseTree(json)));
    },
    /** The review that is open. */
    review() {
      const { review } = file.state.get();
      if (review === null) throw new Error('expected a review to be open');
      return review;
    },
    /** The calls that change the file. */
    changes: () =>
      desk.sent.flatMap(({ method, path }) => (method !== 'GET' && /config/.test(path) ? [`${method} ${path}`] : [])),
  };
}

const WEBPATH = ['api', 'webpath'];
const theirWebpath = { op: 'replace', path: '/api/webpath', value: 'theirs' };

describe.each([
  ['accessKeys', COMMENTED, ['log_level'], '/outbound/port'],
  ['inbounds', COMMENTED_INBOUNDS, ['log', 'level'], '/outbounds/0/port'],
] as const)('an edit of a file of the layout %s', (layout, text, level, port) => {
  it('changes what was edited, and keeps comments and keys that a bot makes meanwhile', async () => {
    const { file, set, call, review, changes, fileText } = await fileUnderEdit({ file: text });
    set(level, '"debug"');
    expect([file.isDirty(), wouldLose()]).toEqual([true, true]);
    await call('POST', 'api/users', { access_key: 'before-the-review' });
    await file.openReview();
    expect([review().plan.overwrites, review().plan.keysGone, review().credentials]).toEqual([null, 0, 'none']);
    await call('POST', 'api/users', { access_key: 'in-the-review' });
    await file.save();
    expect([file.isDirty(), file.state.get().review, said()]).toEqual([false, null, ['Configuration saved.']]);
    const saved = await fileText();
    for (const part of [COMMENT, '"debug"', 'before-the-review', 'in-the-review', "Anna's laptop"])
      expect(saved).toContain(part);
    expect(changes()).toEqual(['PATCH keyway/v1/configuration']);
  });

  it('is kept and not saved where somebody else changes the file, which is shown, and can then be saved over that', async () => {
    const { file, set, call, review, patchFile, fileText } = await fileUnderEdit({ file: text });
    set(level, '"debug"');
    await file.openReview();
    await patchFile({ op: 'replace', path: port, value: 9150 });
    await call('POST', 'api/users', { access_key: 'by-the-bot' });
    await file.save();
    const { plan, present } = review();
    expect(textOfFile(plan.overwrites ?? { text: '' }).replace('9050', '9150'), 'nothing but the port').toBe(
      present.content.text,
    );
    expect([file.isDirty(), said()]).toEqual([true, []]);
    await file.save();
    const saved = await fileText();
    for (const part of [COMMENT, '"debug"', 'by-the-bot', '9050']) expect(saved).toContain(part);
  });

  it('with a new password keeps what a bot makes meanwhile, and the page stays signed in by it', async () => {
    const { file, set, call, workspace, fileText } = await fileUnderEdit({ file: text });
    const listener = layout === 'accessKeys' ? ['api'] : ['inbounds', 1];
    set([...listener, 'password_hash'], JSON.stringify(sha256('another')));
    file.patch({ password: { typed: 'another', repeated: 'another' } });
    expect(file.credentials()).toBe('signedInAgain');
    await call('POST', 'api/users', { access_key: 'by-the-bot' });
    await file.openReview();
    await file.save();
    await settle();
    expect(said()).toEqual(['Configuration saved. You are signed in with the new details.']);
    expect(await fileText()).toContain('by-the-bot');
    await workspace.contact.now();
    expect(workspace.session.state.get().phase).toBe('signedIn');
  });
});

describe('an edit of a file that somebody else has changed', () => {
  it('is told as the review opens, asked about anew at each further change, and can be dropped for theirs', async () => {
    const { file, set, review, patchFile, fileText } = await fileUnderEdit();
    set(WEBPATH, '"mine"');
    await patchFile(theirWebpath);
    await file.openReview();
    expect(textOfFile(review().plan.overwrites ?? { text: '' })).toContain('"office/panel"');
    await patchFile({ ...theirWebpath, value: 'a-third' });
    await file.save();
    expect(review().present.content.text).toContain('a-third');
    expect(await fileText()).toContain('a-third');
    file.useTheirs();
    const { draft, review: open } = file.state.get();
    expect([file.isDirty(), open, textOfFile(draft?.now ?? { text: '' })]).toEqual([
      false,
      null,
      expect.stringContaining('a-third'),
    ]);
  });

  it('is nothing to be saved where both have changed the same', async () => {
    const { file, set, patchFile } = await fileUnderEdit();
    set(WEBPATH, '"theirs"');
    await patchFile(theirWebpath);
    await file.openReview();
    expect([file.isDirty(), file.state.get().review, said()]).toEqual([false, null, ['There are no changes.']]);
  });

  it('without the interface replaces the whole file, with the keys that were made until then', async () => {
    const { file, set, call, review, changes, fileText } = await fileUnderEdit({ ownApi: false });
    set(['log_level'], '"debug"');
    await call('POST', 'api/users', { access_key: 'before-the-review' });
    await file.openReview();
    expect([review().plan.keysGone, review().plan.fields, review().plan.overwrites]).toEqual([0, null, null]);
    await call('POST', 'api/users', { access_key: 'in-the-review' });
    await file.save();
    expect(changes()).toEqual(['PUT api/server/config']);
    for (const part of ['before-the-review', 'in-the-review', '"debug"', '18446744073709551615'])
      expect(await fileText()).toContain(part);
  });
});

it.each([
  ['makes them weak', (tag: string) => `W/${tag}`, 'PATCH keyway/v1/configuration'],
  ['names its coding in them', (tag: string) => tag.replace(/"$/, '-gzip"'), 'PATCH keyway/v1/configuration'],
  ['takes them away', () => '', 'PUT api/server/config'],
])('behind a proxy that %s, entity tags do not keep the configuration from being saved', async (_, told, change) => {
  const { file, set, on, changes } = await fileUnderEdit();
  on(/GET keyway.v1.configuration/, async (_call, next) => {
    const answer = await next();
    const headers = new Headers(answer.headers);
    headers.set('etag', told(headers.get('etag') ?? ''));
    return new Response(await answer.text(), { headers });
  });
  set(['log_level'], '"debug"');
  await file.openReview();
  await file.save();
  expect([said(), changes()]).toEqual([['Configuration saved.'], [change]]);
});

it.each([
  ['accessKeys', COMMENTED, 4],
  ['inbounds', COMMENTED_INBOUNDS, 2],
])('the text that is edited has no key of a file of the layout %s, whose number is told', async (_, text, count) => {
  const { file } = await fileUnderEdit({ file: text });
  const { draft } = file.state.get();
  expect(textOfFile(draft?.now ?? { text: 'none' })).not.toMatch(/access_keys|users|guest-2026/);
  expect(draft?.keyCount).toBe(count);
});

it('keys that are typed as text replace those of the file after a review of how many go, and numbers stay as they were spelled', async () => {
  const { file, review, call, changes, fileText } = await fileUnderEdit();
  const text = textOfFile(file.state.get().draft?.now ?? { text: '' });
  expect(text).toContain('"ratio": 0.10');
  file.type(text.replace('{', '{ "access_keys": ["typed"],'));
  await file.openReview();
  expect(review().plan.keysGone).toBe(4);
  await call('POST', 'api/users', { access_key: 'meanwhile' });
  await file.save();
  expect([review().plan.keysGone, changes()]).toEqual([5, []]);
  await file.save();
  expect(changes()).toEqual(['PUT api/server/config']);
  for (const part of ['"typed"', '0.10']) expect(await fileText()).toContain(part);
  expect(await fileText()).not.toContain('meanwhile');
});

it('a backup with other keys puts those in place, and one with the same changes its fields alone', async () => {
  const { file, review, changes, fileText } = await fileUnderEdit();
  await file.restore('same.json', SERVER_FILE.replace('"port": 9050', '"port": 9150'));
  await file.openReview();
  await file.save();
  expect(changes()).toEqual(['PATCH keyway/v1/configuration']);
  expect(await fileText()).toContain(COMMENT);
  await file.restore('fewer.json', SERVER_FILE.replace('"6f1d2c3b4a5968778695a4b3c2d1e0ff",', ''));
  await file.openReview();
  expect(review().plan.keysGone).toBe(1);
  await file.save();
  expect(changes().at(-1)).toBe('PUT api/server/config');
  expect(await fileText()).not.toContain('6f1d2c3b4a5968778695a4b3c2d1e0ff');
});

it('keys stay with their inbound where the inbounds are put in another order', async () => {
  const { file, fileText } = await fileUnderEdit({ file: COMMENTED_INBOUNDS });
  const parsed = JSON.parse(textOfFile(file.state.get().draft?.now ?? { text: '' }));
  const keys = (text: string) =>
    JSON.parse(text.replace(COMMENT, '')).inbounds.find(({ protocol }: { protocol: string }) => protocol === 'ostp')
      .users;
  const before = keys(await fileText());
  file.type(JSON.stringify({ ...parsed, inbounds: parsed.inbounds.toReversed() }));
  await file.openReview();
  await file.save();
  expect(said()).toEqual(['Configuration saved.']);
  expect(keys(await fileText())).toEqual(before);
});

it('a save from which no server would start is refused by the member, and the edit stays', async () => {
  const { file, set, fileText } = await fileUnderEdit();
  const before = await fileText();
  set(['dns', 'adblock_urls'], '7');
  await file.openReview();
  await file.save();
  const { refused, review, error } = file.state.get();
  expect([refused, review, file.isDirty()]).toEqual(['dns.adblock_urls', null, true]);
  expect(error).toMatchObject({ envelope: { code: 'unreadable_by_server' } });
  expect(await fileText()).toBe(before);
  set(['dns', 'adblock_urls'], '[]');
  expect(file.state.get().refused).toBe(null);
});

it('a file that is changed while an earlier edit is being saved stays under edit, and an older answer does not take its place', async () => {
  const { file, set, on, fileText } = await fileUnderEdit();
  const answered = gate();
  on(/PATCH/, async (_call, next) => {
    await answered.opened;
    return next();
  });
  set(['log_level'], '"debug"');
  await file.openReview();
  const saving = file.save();
  const loading = file.start();
  set(['log_level'], '"trace"');
  answered.open();
  await Promise.all([saving, loading]);
  expect([file.isDirty(), textOfFile(file.state.get().draft?.now ?? { text: '' })]).toEqual([
    true,
    expect.stringContaining('"trace"'),
  ]);
  expect(await fileText()).toContain('"debug"');
});

it('a file that the server cannot read is told, and replaced by a backup', async () => {
  const { file, on } = await fileUnderEdit();
  on(/GET/, () => refusal(400, 'Failed to parse config file', 'unreadable'));
  await file.load();
  expect(file.state.get().error).toMatchObject({ detail: 'Failed to parse config file' });
  await file.restore('kept.json', SERVER_FILE);
  expect(said()).toEqual([expect.stringContaining('Loaded kept.json.')]);
  await file.openReview();
  expect(file.state.get().review?.plan).toMatchObject({ fields: null, overwrites: null });
});

it('an edit goes at a sign-out, and what could not be saved is told and noted', async () => {
  const { file, set, on, workspace, call } = await fileUnderEdit();
  set(['log_level'], '"debug"');
  await file.openReview();
  on(/PATCH/, () => refusal(400, 'no'));
  await expect(file.save()).rejects.toMatchObject({ detail: 'no' });
  expect([file.isDirty(), file.state.get().review === null]).toEqual([true, false]);
  await settle();
  expect(JSON.stringify(await call('GET', 'api/audit'))).toContain('"success":false');
  workspace.session.signOut();
  expect([file.state.get().draft, wouldLose()]).toEqual([null, false]);
});
