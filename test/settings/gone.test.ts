import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGateway } from '../../src/gateway/create-gateway.js';
import type { GatewayOptions } from '../../src/gateway/options.js';
import { GONE } from '../../src/settings/gone.js';
import { memberOf, variableOf } from '../../src/settings/table.js';
import { runHere } from '../commands/context.js';
import { folderForTest } from '../folder-for-test.js';
import { serveHere } from '../serve/serve-here.js';

const ROWS = GONE.map((gone) => [gone.flag, gone] as const);

describe.each(ROWS)('the setting %s, which is gone', (flag, { takesValue, option, instead }) => {
  const member = { [memberOf(flag)]: takesValue ? '7' : true };

  it.each([
    [`flag --${flag}`, takesValue ? [`--${flag}`, '7'] : [`--${flag}`], {}],
    [`environment variable ${variableOf(flag)}`, [], { [variableOf(flag)]: takesValue ? '7' : 'true' }],
    [`member "${memberOf(flag)}" of settings.jsonc`, ['--settings', 'settings.jsonc'], {}],
  ])('is one warning as %s, and Keyway serves', async (place, argv, environment) => {
    const folder = await folderForTest();
    await writeFile(join(folder, 'settings.jsonc'), JSON.stringify(member));
    const given = ['serve', '--no-config', '--bind', '127.0.0.1:0', ...argv];
    const served = await serveHere(given, { folder, environment });
    expect((await fetch(`${await served.url}/panel/api/server/status`)).status).toBe(200);
    const warnings = (await served.log()).flatMap(({ level, msg }) => (level === 'warn' ? [String(msg)] : []));
    const named = place.replace('settings.jsonc', join(folder, 'settings.jsonc'));
    expect(warnings.filter((warning) => warning.includes('is gone'))).toEqual([`${named}: is gone: ${instead}`]);
    expect(await served.stop()).toMatchObject({ code: 0, complaints: '' });
  });

  it('is one warning as an option of createGateway, and the gateway serves', async () => {
    const warnings: string[] = [];
    const log = {
      debug() {},
      info() {},
      warn: (_: object, message: string) => void warnings.push(message),
      error() {},
    };
    const server = await serveHere(['serve', '--no-config', '--bind', '127.0.0.1:0'], {
      folder: await folderForTest(),
    });
    const [name = '', ofUpstream] = option.split('.');
    const upstream = { url: `${await server.url}/panel`, ...(ofUpstream === undefined ? {} : { [ofUpstream]: 7 }) };
    // A program without types may give what the options do not have.
    const options = { mounts: [{ revision: 'current' }], log, [name]: 7, upstream } as GatewayOptions;
    const app = await createGateway(options);
    onTestFinished(() => app.close());
    expect((await app.inject(`${app.keyway.mounts[0]?.api}/server/status`)).statusCode).toBe(200);
    expect(warnings.filter((warning) => warning.includes('is gone'))).toEqual([
      `option ${option}: is gone: ${instead}`,
    ]);
  });

  it.each([
    [['config', 'list']],
    [['install-service', '--print']],
  ])('is refused as a flag of %j, exit code 2', async (command) => {
    const { code, complaints } = await runHere([...command, `--${flag}`, ...(takesValue ? ['7'] : [])]);
    expect({ code, complaints }).toEqual({
      code: 2,
      complaints: `flag --${flag}: is gone: ${instead}\nSee: keyway ${command.filter((word) => !word.startsWith('--')).join(' ')} --help\n`,
    });
  });
});
