import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { DomainError } from '../core/errors.js';
import { ContentChangedError } from '../homes/file/configuration/whole-content.js';
import type { Replacements } from '../homes/file/replacements.js';
import { failureWords } from '../platform/failure-words.js';
import { acceptBody } from '../sockets/awaited-bodies.js';
import { changeBegins } from '../sockets/connection-to-blame.js';

/** The status of a content that was made from another than the file holds. */
export const CONTENT_CHANGED = 412;
/** The root of these calls, which is asked whether there are any. */
export const REPLACEMENTS_ROOT = '/replacements';

/**
 * Serves what commands replace of a file's home: on the socket for commands alone, whose rights are all that guards it.
 * Bodies have no limit, and none but a configuration is held whole.
 */
export function serveReplacements(app: FastifyInstance, replacements: Replacements): void {
  const calls: Readonly<Record<string, (body: IncomingMessage, query: URLSearchParams) => Promise<unknown>>> = {
    state: (body) => replacements.restore(body),
    counters: (body) => replacements.importCounters(body),
    async file(body, query) {
      const pieces: Buffer[] = [];
      for await (const piece of body) pieces.push(piece);
      const replaces = query.get('replaces');
      return replacements.putFile(Buffer.concat(pieces), {
        ...(replaces === null ? {} : { replaces }),
        forever: query.has('forever'),
        dropWaiting: query.has('drop-waiting'),
      });
    },
  };
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, body, done) => done(null, body));
    scope.get(REPLACEMENTS_ROOT, (_request, reply) => send(reply, 200, { ok: true, data: Object.keys(calls) }));
    for (const [name, work] of Object.entries(calls)) {
      scope.post(`${REPLACEMENTS_ROOT}/${name}`, async ({ raw, url }, reply) => {
        changeBegins();
        acceptBody(raw);
        try {
          const data = (await work(raw, new URL(url, 'http://localhost').searchParams)) ?? null;
          return send(reply, 200, { ok: true, data });
        } catch (error) {
          return send(reply, error instanceof ContentChangedError ? CONTENT_CHANGED : 500, {
            ok: false,
            error: reasonOf(error),
          });
        }
      });
    }
  });
}

function send(reply: FastifyReply, status: number, body: object): FastifyReply {
  return reply
    .code(status)
    .header('content-type', 'application/json')
    .send(Buffer.from(JSON.stringify(body)));
}

function reasonOf(error: unknown): string {
  const isUnwritten = error instanceof DomainError && error.code === 'configWriteFailed';
  return isUnwritten ? `the configuration file could not be written: ${error.detail}` : failureWords(error);
}
