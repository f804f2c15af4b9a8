import type { FastifyInstance, FastifyReply } from 'fastify';
import { answerUnmatched } from './answers.js';
import { allowAnyOrigin } from './cors.js';
import { acceptedCoding } from './list-body.js';
import { isApiPath } from './matching.js';
import type { Mount } from './mount.js';
import type { PanelFile } from './panel-files.js';
import type { Observing } from './request-observer.js';

const INDEX = 'index.html';

/** Serves a mount's static panel at `{base}/` (spec: "Static panel"). */
export function servePanel(app: FastifyInstance, mount: Mount, mounts: readonly Mount[], observing: Observing): void {
  const mark = observing.marking('panel', mount);
  const base = mount.base.replaceAll(':', '::'); // The router reads a lone colon as a parameter.
  app.get(base, (_request, reply) => {
    mark(reply.raw);
    allowAnyOrigin(reply);
    return reply.code(308).header('location', `${mount.base}/`).send();
  });
  app.get<{ Params: { '*': string } }>(`${base}/*`, async (request, reply) => {
    allowAnyOrigin(reply);
    if (isApiPath(mounts, request.url)) return answerUnmatched(mounts, request, reply);
    mark(reply.raw);
    return sendFile(mount, request.params['*'], request.headers['accept-encoding'], reply);
  });
}

async function sendFile(
  mount: Mount,
  path: string,
  accepted: string | undefined,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const file = path === '' || path === INDEX ? null : await mount.panel.file(path);
  if (file !== null) return send(file, file.contentType, accepted, reply);
  const wantsIndex = path === '' || path === INDEX || mount.revision.missingFile.answersIndex(path);
  const index = wantsIndex ? await mount.panel.file(INDEX) : null;
  if (index !== null) return send(index, 'text/html', accepted, reply);
  return reply.code(404).header('content-type', 'text/plain; charset=utf-8').send(Buffer.from('404 Not Found'));
}

function send(file: PanelFile, type: string, accepted: string | undefined, reply: FastifyReply): FastifyReply {
  reply.header('content-type', type);
  if (file.headers !== undefined) reply.headers(file.headers);
  if (file.compressed === undefined) return reply.send(file.content);
  reply.header('vary', 'accept-encoding');
  const coding = acceptedCoding(accepted);
  const content = coding === null ? undefined : file.compressed[coding];
  if (coding === null || content === undefined) return reply.send(file.content);
  return reply.header('content-encoding', coding).send(content);
}
