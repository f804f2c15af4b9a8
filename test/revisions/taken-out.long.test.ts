import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { DEFAULT_REVISION, REVISIONS } from '../../revisions/all.js';
import { encodeJson } from '../../src/wire/json/write-json.js';
import { openApiDocument } from '../../src/wire/openapi/openapi.js';
import type { Revision } from '../../src/wire/traits/revision.js';
import { line9_9_9 } from './made-up.js';

const ALL = [...REVISIONS, line9_9_9];

/** The modules as they are when the list holds these records alone. */
async function withRevisions(revisions: readonly Revision[]) {
  vi.resetModules();
  const SERVER_FILES = revisions.map(({ file }) => file);
  vi.doMock('../../revisions/all.js', () => ({ REVISIONS: revisions, DEFAULT_REVISION, SERVER_FILES }));
  return {
    ...(await import('../../revisions/index.js')),
    ...(await import('../../revisions/table.js')),
    ...(await import('../../src/index.js')),
    openApiOf: (await import('../../src/wire/openapi/openapi.js')).openApiDocument,
  };
}

afterAll(() => {
  vi.doUnmock('../../revisions/all.js');
  vi.resetModules();
});

describe.each(ALL)('without the record of $id', (gone) => {
  const left = ALL.filter((each) => each !== gone);
  const before = ALL[ALL.indexOf(gone) - 1];

  it('its versions are those of the line before it, its name is unknown, and nothing lists it', async () => {
    const { resolveRevision, knownRevisions, revisionTable } = await withRevisions(left);
    const resolved = resolveRevision(gone.from);
    if (before === undefined) expect(resolved.ok).toBe(false);
    else expect(resolved).toMatchObject({ ok: true, revision: { id: before.id } });
    if (gone.id !== gone.from) expect(resolveRevision(gone.id).ok).toBe(false);
    expect(knownRevisions()).not.toContain(gone.id);
    expect(revisionTable().map(([id]) => id)).toEqual(['id', ...left.map(({ id }) => id)]);
  });

  it('every other is served and described as before', async () => {
    const { createGateway, openApiOf } = await withRevisions(left);
    for (const revision of left) expect(encodeJson(openApiOf(revision))).toBe(encodeJson(openApiDocument(revision)));
    const underWebpath = left.filter(({ root }) => root.usesWebpath);
    const [atRoot] = left.filter(({ root }) => !root.usesWebpath);
    const mounts = [...underWebpath, ...(atRoot === undefined ? [] : [atRoot])];
    const app = await createGateway({
      listener: { token: 't' },
      mounts: mounts.map(({ id, reportedVersion }) => ({ revision: reportedVersion, webpath: `p-${id}` })),
    });
    onTestFinished(() => app.close());
    for (const { api, revision } of app.keyway.mounts) {
      const answer = await app.inject({ url: `${api}/server/status`, headers: { authorization: 'Bearer t' } });
      expect(answer.json()).toMatchObject({ ok: true, data: { version: revision.reportedVersion } });
    }
    expect(app.keyway.mounts.map(({ revision }) => revision.id)).toEqual(mounts.map(({ id }) => id));
    expect((await app.inject(`/p-${gone.id}/api/server/status`)).statusCode).toBe(404);
  });
});
