import { createHash } from 'node:crypto';
import { REVISIONS } from '../revisions/all.js';
import type { Caller, Target } from '../src/client/call.js';
import { createCaller } from '../src/client/caller.js';
import { createControl } from '../src/client/signed-in-caller.js';
import { stageScenario } from '../src/embedded/stage.js';
import type { Scenario } from '../src/lab/format/scenario.js';
import { createLook } from '../src/lab/reads/look.js';
import { type Standing, standingsOf } from '../src/lab/reads/standing.js';
import type { Revision } from '../src/wire/traits/revision.js';

const OPERATOR = { username: 'operator', password: 'password' };
const TOKEN = 'static-token';

/** A server with keys that are connected, were used and never were, in whatever line. */
const USED_SERVER: Scenario = {
  title: 'a server in use',
  revision: '',
  source: 'spec',
  given: {
    config: {
      mode: 'server',
      listen: '@LISTEN@',
      access_keys: ['idle', { access_key: 'used', name: 'Used', limit_bytes: 1_000_000n }, 'connected'],
      outbound: { enabled: true, rules: [{ domain_suffix: ['.onion'], action: 'proxy' }] },
      dns: { enabled: false },
      api: {
        enabled: true,
        bind: '@API@',
        token: TOKEN,
        webpath: '',
        username: OPERATOR.username,
        password_hash: createHash('sha256').update(OPERATOR.password).digest('hex'),
      },
    },
    counters: [
      { access_key: 'used', bytes_up: 1000n, bytes_down: 2000n, connections: 0n },
      { access_key: 'connected', bytes_up: 3000n, bytes_down: 4000n, connections: 2n },
    ],
    server: { host: '203.0.113.7', port: 50000, shareScheme: 'ostp', shareQuery: '?sni=example.org' },
  },
  exchanges: [],
};

/** A line's server, held against the record of every line. */
export interface ToldApart {
  readonly server: Revision;
  readonly by: readonly Standing[];
}

/** Holds an embedded server of each line against each line's record, by reads alone. */
export async function tellAllApart(): Promise<readonly ToldApart[]> {
  const told: ToldApart[] = [];
  for (const server of REVISIONS) told.push(await tellApart(server));
  return told;
}

async function tellApart(server: Revision): Promise<ToldApart> {
  const { target, close } = await stageScenario(USED_SERVER, server.from, { files: 'memory' });
  const caller = createCaller({ origin: target.origin, timeoutMilliseconds: 10_000 });
  try {
    const session = await sessionOn(caller, target, server);
    // Its clock goes on by itself.
    const look = createLook({ caller, webpath: '', token: TOKEN, session, pause: async () => undefined });
    return { server, by: await standingsOf(look, REVISIONS) };
  } finally {
    caller.close();
    await close();
  }
}

async function sessionOn(caller: Caller, target: Target, revision: Revision): Promise<string | null> {
  return createControl(caller, { target, revision, credentials: { token: null, operator: OPERATOR } }).session();
}
