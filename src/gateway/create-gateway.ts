import type { FastifyInstance } from 'fastify';
import { resolveRevision } from '../../revisions/index.js';
import { composeGateway, type Gateway } from './compose.js';
import type { GatewayMount, GatewayOptions, ResolvedMount } from './options.js';
import { resolveUpstream } from './upstream.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** What stands behind a Keyway app; set by `createGateway`. */
    readonly keyway: Gateway;
  }
}

/**
 * Creates the gateway as a Fastify app, for embedding and for `inject` in tests. It opens no socket until `listen`, starts no
 * resolver, and follows the protocol on mounts that their own rule leaves open. Rejects with an `Error` whose message is for
 * people when a revision is unknown, two mounts clash or the configuration file cannot be read.
 */
export async function createGateway(options: GatewayOptions): Promise<FastifyInstance> {
  const { mounts, upstream, ...others } = options;
  const gateway = await composeGateway({
    ...others,
    mounts: mounts.map(resolveMount),
    ...(upstream === undefined ? {} : { upstream: resolveUpstream(upstream) }),
  });
  gateway.app.decorate('keyway', gateway);
  return gateway.app;
}

function resolveMount(wanted: GatewayMount): ResolvedMount {
  const answer = resolveRevision(wanted.revision);
  if (!answer.ok) throw new Error(`revision ${wanted.revision}: ${answer.problem}`);
  return { ...wanted, revision: answer.revision, version: answer.version };
}
