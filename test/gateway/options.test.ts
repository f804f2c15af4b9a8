import { describe, expect, it, onTestFinished } from 'vitest';
import { createGateway, type GatewayOptions } from '../../src/index.js';

const MOUNTS = [{ revision: 'current' }];

describe('createGateway', () => {
  it.each([
    ['nothing', undefined, "expected options, at least mounts: [{ revision: 'current' }]"],
    ['no options', {}, "mounts: expected at least one revision, as mounts: [{ revision: 'current' }]"],
    ['no mounts', { mounts: [] }, 'mounts: expected at least one revision'],
    ['a mount without a revision', { mounts: [{}] }, 'mounts[0].revision: expected a revision'],
    ['a misspelt revision', { mounts: [{ revision: 'curent' }] }, '(did you mean current?)'],
    [
      'a misspelt option',
      { mounts: MOUNTS, confgPath: 'x' },
      'confgPath: there is no such option (did you mean configPath?)',
    ],
    [
      'a misspelt member of a mount',
      { mounts: [{ revision: 'current', webpth: 'x' }] },
      'mounts[0].webpth: there is no such',
    ],
    [
      'a misspelt member of another option',
      { mounts: MOUNTS, listener: { tokn: 'a' } },
      'listener.tokn: there is no such option (did you mean token?)',
    ],
    [
      'an option of another form',
      { mounts: MOUNTS, listener: 'a' },
      'listener: expected an object with token, username',
    ],
  ])('with %s names the option', async (_, options, words) => {
    // What only a program without types can give.
    await expect(createGateway(options as GatewayOptions)).rejects.toThrow(words);
  });

  it('says in its log what it does without', async () => {
    const said: string[] = [];
    const say = (_: object, message: string) => void said.push(message);
    const log = { debug: say, info: say, warn: say, error: say };
    const create = async (options: Partial<GatewayOptions>) => {
      said.length = 0;
      await (await createGateway({ mounts: MOUNTS, log, ...options })).close();
      return said.filter((message) => !message.startsWith('the panel is not built'));
    };
    expect(await create({})).toEqual([
      expect.stringMatching(/^no configPath is given: /),
      expect.stringMatching(/^no credential is given: /),
    ]);
    expect(await create({ listener: { token: 'a' }, test: {} })).toEqual([]);
  });

  it.each([
    ['0.2.58', '0.2.58'],
    ['current', '0.3.6'],
  ])('of the revision %s reports the version %s', async (revision, version) => {
    const app = await createGateway({ mounts: [{ revision, webpath: 'panel' }] });
    onTestFinished(() => app.close());
    expect((await app.inject('/panel/api/server/status')).json()).toMatchObject({ data: { version } });
  });
});
