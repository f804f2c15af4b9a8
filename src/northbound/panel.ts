import type { FastifyInstance, FastifyReply } from 'fastify';
import { answerUnmatched } from './answers.js';
import { isApiPath } from './matching.js';
import type { Mount } from './mount.js';

const INDEX = 'index.html';

/** Serves a mount's static panel at `{base}/` (spec: "Static panel"). */
export function servePanel(app: FastifyInstance, mount: Mount, mounts: readonly Mount[]): void {
  const base = mount.base.replaceAll(':', '::'); // The router reads a lone colon as a parameter.
  app.get(base, (_request, reply) => reply.code(308).header('location', `${mount.base}/`).send());
  app.get<{ Params: { '*': string } }>(`${base}/*`, async (request, reply) => {
    if (isApiPath(mounts, request.url)) return answerUnmatched(mounts, request, reply);
    return sendFile(mount, request.params['*'], reply);
  });
}

async function sendFile(mount: Mount, path: string, reply: FastifyReply): Promise<FastifyReply> {
  const file = path === '' || path === INDEX ? null : await mount.panel.file(path);
  if (file !== null) return reply.header('content-type', file.contentType).send(file.content);
  const wantsIndex = path === '' || path === INDEX || mount.revision.missingFile.answersIndex(path);
  const index = wantsIndex ? await mount.panel.file(INDEX) : null;
  if (index !== null) return reply.header('content-type', 'text/html').send(index.content);
  return reply.code(404).header('content-type', 'text/plain; charset=utf-8').send(Buffer.from('404 Not Found'));
}
