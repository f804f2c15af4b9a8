import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { SETTINGS, variableOf } from '../../src/settings/table.js';
import { ROOT } from '../clone.js';
import { runHere } from '../commands/context.js';
import { lastStage, readInstructions, variablesOf } from './dockerfile.js';

interface Service {
  readonly build?: string;
  readonly image: string;
  readonly user?: string;
  readonly command?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly stop_grace_period?: string;
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes?: Readonly<Record<string, unknown>>;
}

/** The text of a compose file as Compose reads it where no variable of the reader's is set. */
function withDefaults(text: string): string {
  return text.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1');
}

const image = lastStage(readInstructions(await readFile(join(ROOT, 'Dockerfile'), 'utf8')));
const ownVariables = variablesOf(image);
const exposed = image.filter(({ name }) => name === 'EXPOSE').map(({ text }) => text);
/** What is only there on the reader's machine. */
const OF_THE_READER = /^\.\/(?:config|certificates)$/;

// There is no daemon here that could start them: what they say is held against the image, the settings and the files they name.
describe.each(['compose.yaml', 'docs/proxy/compose.yaml'])('%s', (path) => {
  const folder = dirname(join(ROOT, path));
  const read = async (): Promise<Compose> => parse(withDefaults(await readFile(join(ROOT, path), 'utf8')));
  const keywayOf = ({ services }: Compose): Service => {
    const { keyway } = services;
    if (keyway === undefined) throw new Error('there is no service keyway');
    return keyway;
  };

  it('builds from the folder of the Dockerfile, and mounts a folder where the image looks for the file', async () => {
    const { build = '', volumes = [] } = keywayOf(await read());
    expect(existsSync(join(resolve(folder, build), 'Dockerfile'))).toBe(true);
    const mounted = volumes.find((volume) => volume.endsWith(`:${dirname(ownVariables.KEYWAY_CONFIG ?? '')}`));
    expect(mounted).toMatch(/^(?:\.\/)?config:/);
  });

  it('names only files that are there, volumes that it declares, and settings that there are', async () => {
    const compose = await read();
    const known = Object.values(SETTINGS).map(({ flag }) => variableOf(flag));
    for (const [name, { volumes = [], environment = {} }] of Object.entries(compose.services)) {
      for (const volume of volumes) {
        const [source = ''] = volume.split(':');
        if (!source.startsWith('.')) expect(Object.keys(compose.volumes ?? {}), name).toContain(source);
        else if (!OF_THE_READER.test(source)) expect(existsSync(resolve(folder, source)), source).toBe(true);
      }
      for (const variable of Object.keys(environment)) expect(known).toContain(variable);
    }
  });

  it('starts Keyway with a command line that it takes, as a user who is not root, on the port that the image exposes', async () => {
    const { command = [], user = '', ports = [] } = keywayOf(await read());
    expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    for (const port of ports) expect(exposed).toContain(port.split(':').at(-1));
    if (command.length === 0) return;
    const argv = command.map((word) => word.replace('/run/keyway/', ''));
    // The file is missing, which is a 1; a word that is not known would be a 2. `start` would write it: container.long.test.ts runs that.
    if (command[0] !== 'start') expect((await runHere([...argv, '--config', 'missing.jsonc'], {})).code).toBe(1);
    expect((await runHere([...argv, '--unknown'], {})).code).toBe(2);
  });
});

it('the proxy of docs/proxy/compose.yaml finds the socket, the web path and the certificates that nginx.conf names', async () => {
  const compose: Compose = parse(await readFile(join(ROOT, 'docs/proxy/compose.yaml'), 'utf8'));
  const nginx = await readFile(join(ROOT, 'docs/proxy/nginx.conf'), 'utf8');
  const [, socket = ''] = /server unix:(\S+);/.exec(nginx) ?? [];
  const command = compose.services.keyway?.command ?? [];
  expect(command).toContain(`unix:${socket}`);
  expect(nginx).toContain(`location /${command.at(command.indexOf('--webpath') + 1)}/`);
  const mounted = (compose.services.nginx?.volumes ?? []).map((volume) => volume.split(':')[1]);
  expect(mounted).toContain(dirname(/ssl_certificate (\S+);/.exec(nginx)?.[1] ?? ''));
  expect(mounted).toContain(dirname(socket));
  const [, group] = (compose.services.keyway?.user ?? '').split(':');
  expect(compose.services['socket-folder']?.command).toEqual([
    'install',
    '-d',
    '-m',
    '2750',
    '-o',
    '1000',
    '-g',
    group,
    dirname(socket),
  ]);
});

it('docs/database/compose.yaml has two gateways with the same settings, that there are, over one database, and nginx before both', async () => {
  const folder = join(ROOT, 'docs/database');
  const { services }: Compose = parse(await readFile(join(folder, 'compose.yaml'), 'utf8'));
  const { one, two, nginx } = services;
  expect(one).toEqual(two);
  expect(existsSync(join(resolve(folder, one?.build ?? ''), 'Dockerfile'))).toBe(true);
  const known = ['KEYWAY_SETTINGS', ...Object.values(SETTINGS).map(({ flag }) => variableOf(flag))];
  for (const variable of Object.keys(one?.environment ?? {})) expect(known).toContain(variable);
  const settings = join(await mkdtemp(join(tmpdir(), 'keyway-compose-')), 'settings.jsonc');
  onTestFinished(() => rm(dirname(settings), { recursive: true }));
  await writeFile(settings, '{ "database": "postgres://keyway@127.0.0.1:9/keyway", "token": "t" }');
  const environment = { ...one?.environment, KEYWAY_SETTINGS: settings, KEYWAY_LOG_LEVEL: 'silent' };
  const { complaints } = await runHere(one?.command ?? [], { environment });
  expect(complaints).toContain('the database cannot be reached');
  for (const volume of nginx?.volumes ?? []) expect(existsSync(resolve(folder, volume.split(':')[0] ?? ''))).toBe(true);
  const { services: alone }: Compose = parse(await readFile(join(ROOT, 'compose.yaml'), 'utf8'));
  expect(one?.stop_grace_period).toBe(alone.keyway?.stop_grace_period);
});

it('docs/database/nginx.conf asks for the addresses of the gateways anew: a container that was made anew has another', async () => {
  const text = await readFile(join(ROOT, 'docs/database/nginx.conf'), 'utf8');
  expect(text).toMatch(/^resolver 127\.0\.0\.11 /m);
  expect(text).toMatch(/^ {2}zone gateways /m);
  expect(text.match(/^ {2}server .*;$/gm)).toEqual(
    ['one', 'two'].map((name) => `  server ${name}:9090 resolve max_fails=1 fail_timeout=2s;`),
  );
});
