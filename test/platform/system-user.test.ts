import { describe, expect, it } from 'vitest';
import { findUser } from '../../src/platform/system-user.js';

describe('a user of this machine', () => {
  it('is found by name and by number, with its groups, and one that there is not is null', async () => {
    const root = await findUser('root');
    expect(root).toEqual({ uid: 0, groups: expect.arrayContaining([0]) });
    expect(await findUser('0')).toEqual(root);
    expect(await findUser('nosuchuser')).toBeNull();
  });
});
