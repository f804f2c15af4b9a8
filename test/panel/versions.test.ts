import { expect, it } from 'vitest';
import { versionsOf } from '../../panel/pages/configuration/versions.js';
import { SERVER_FILE } from './server-files.js';
import { openDesk, said, settle, undo } from './without-browser.js';

/** The kept versions of a file in which a member was changed, and of which a key was removed then. */
async function deskWithVersions() {
  const desk = await openDesk('current', { file: SERVER_FILE });
  const versions = versionsOf(desk.workspace);
  await desk.patchFile({ op: 'add', path: '/monitoring/ceiling', value: 5 });
  await desk.call('DELETE', 'api/users/guest-2026');
  await versions.load();
  return {
    ...desk,
    versions,
    list: () => versions.state.get().list ?? [],
    async look(at: number) {
      const version = versions.state.get().list?.at(at);
      if (version === undefined) throw new Error('expected a version');
      await versions.look(version);
    },
  };
}

it('versions are told with why they were kept and what differs, and compared without the keys', async () => {
  const { list, look, versions } = await deskWithVersions();
  expect(list().map(({ reason, counts, members }) => ({ reason, counts, members }))).toEqual([
    { reason: 'keys_removed', counts: [1, 0, 0], members: [] },
    { reason: 'settings_changed', counts: [1, 0, 0], members: ['monitoring'] },
  ]);
  await look(-1);
  const { open } = versions.state.get();
  expect(open?.present).toContain('"ceiling": 5');
  expect(open?.kept).toContain('"ceiling": 18446744073709551615');
  expect(`${open?.present}${open?.kept}`).not.toContain('access_keys');
  versions.close();
  expect(versions.state.get().open).toBe(null);
});

it('a version is restored with its keys, and its message takes that back', async () => {
  const { look, versions, fileText } = await deskWithVersions();
  const before = await fileText();
  await look(-1);
  await versions.restore();
  expect([await fileText(), said(), versions.state.get().open]).toEqual([
    SERVER_FILE,
    ['The version is restored.'],
    null,
  ]);
  undo();
  await expect.poll(fileText).toBe(before);
  await settle();
});
