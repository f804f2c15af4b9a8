import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { traitsOf } from '../wire/traits/revision.js';
import { whenAnswerIsOver } from './answer-over.js';
import { allowAnyOrigin, answerUnmatched, sendTooMany } from './answers.js';
import { acceptedCoding } from './list-body.js';
import { isApiPath } from './matching.js';
import type { Mount } from './mount.js';
import type { PanelFile, StreamedContent } from './panel-files.js';
import type { Observing } from './request-observer.js';
import type { StrangerRate } from './stranger-rate.js';

const INDEX = 'index.html';

interface PanelRoute {
  Params: { '*': string };
}

export interface PanelContext {
  readonly mounts: readonly Mount[];
  readonly observing: Observing;
  readonly rate: StrangerRate;
}

/** Serves a mount's static panel at `{base}/` (protocol: "Static panel"). */
export function servePanel(app: FastifyInstance, mount: Mount, { mounts, observing, rate }: PanelContext): void {
  const observer = observing('panel', mount);
  const unmatched = observing('other', null);
  const config = { observer, ownOriginOnly: !mount.revision.anyOrigin };
  const base = mount.base.replaceAll(':', '::'); // The router would read a single colon as a parameter.
  const redirect = observer.around((_request, reply) => {
    allowAnyOrigin(reply);
    return reply
      .code(308)
      .header('location', encodeURI(`${mount.base}/`))
      .send();
  });
  const serveFile = observer.around(async (request: FastifyRequest<PanelRoute>, reply) => {
    allowAnyOrigin(reply);
    const wait = rate.retryAfter(request.raw);
    if (wait !== null) return sendTooMany(reply, wait);
    const told = rate.begins(request.raw);
    const sends = (bytes: number) => told(request.method === 'HEAD' ? 0 : bytes);
    return sendFile(mount, request.params['*'], { reply, accepted: request.headers['accept-encoding'], sends });
  });
  const refuse = unmatched.around((request, reply) => {
    allowAnyOrigin(reply);
    return answerUnmatched(mounts, request, reply);
  });
  app.get(base, { config }, redirect);
  app.get<PanelRoute>(`${base}/*`, { config }, (request, reply) =>
    isApiPath(mounts, request.url) ? refuse(request, reply) : serveFile(request, reply),
  );
}

interface FileAnswer {
  readonly reply: FastifyReply;
  /** The `Accept-Encoding` of the request. */
  readonly accepted: string | undefined;
  /** Counts the bytes that are sent. */
  readonly sends: (bytes: number) => void;
}

async function sendFile(mount: Mount, path: string, answer: FileAnswer): Promise<FastifyReply> {
  const file = path === '' || path === INDEX ? null : await mount.panel.file(path);
  if (file !== null) return send(file, file.contentType, answer);
  const wantsIndex = path === '' || path === INDEX || traitsOf(mount.revision, 'panel').missingFile.answersIndex(path);
  const index = wantsIndex ? await mount.panel.file(INDEX) : null;
  if (index !== null) return send(index, 'text/html', answer);
  answer.sends(0);
  const { reply } = answer;
  return reply.code(404).header('content-type', 'text/plain; charset=utf-8').send(Buffer.from('404 Not Found'));
}

function send(file: PanelFile, type: string, { reply, accepted, sends }: FileAnswer): FastifyReply {
  reply.header('content-type', type);
  if (file.headers !== undefined) reply.headers(file.headers);
  if (!Buffer.isBuffer(file.content)) {
    sends(file.content.size);
    return sendStreamed(file.content, reply);
  }
  if (file.compressed !== undefined) reply.header('vary', 'accept-encoding');
  const coding = acceptedCoding(accepted);
  const compressed = coding === null ? undefined : file.compressed?.[coding];
  if (compressed !== undefined) reply.header('content-encoding', coding);
  const content = compressed ?? file.content;
  sends(content.length);
  return reply.send(content);
}

/** Answers HEAD with the length alone; the framework would read all the bytes and throw them away. */
function sendStreamed({ size, stream }: StreamedContent, reply: FastifyReply): FastifyReply {
  reply.header('content-length', size);
  if (reply.request.method !== 'HEAD') {
    // The framework would not hear of the end of an answer that is queued behind another, and keep its file open.
    whenAnswerIsOver(reply.raw, reply.request.raw.socket, () => stream.destroy());
    return reply.send(stream);
  }
  stream.destroy();
  return reply.send(Readable.from([]));
}
