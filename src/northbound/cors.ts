import type { FastifyReply, FastifyRequest } from 'fastify';

/** The header by which any origin may call (protocol: "Addressing"). */
export const ANY_ORIGIN = ['access-control-allow-origin', '*'] as const;

export function allowAnyOrigin(reply: FastifyReply): void {
  reply.header(...ANY_ORIGIN);
}

/**
 * Answers OPTIONS, preflight or not: 200 with `Allow`. What a preflight asks for is granted by name, because a literal
 * `*` does not cover `Authorization` in browsers (Fetch, "CORS-preflight fetch").
 */
export function answerOptions(request: FastifyRequest, reply: FastifyReply, methods: readonly string[]): FastifyReply {
  allowAnyOrigin(reply);
  return reply
    .code(200)
    .header('allow', methods.join(','))
    .header('access-control-allow-methods', token(request.headers['access-control-request-method']) ?? '*')
    .header('access-control-allow-headers', token(request.headers['access-control-request-headers']) ?? '*')
    .header('vary', 'access-control-request-method, access-control-request-headers')
    .send();
}

/** The value when it is a list of HTTP tokens (RFC 9110, 5.6.2), so that nothing else is ever echoed. */
function token(value: string | undefined): string | null {
  return value !== undefined && /^[\w!#$%&'*+.^`|~, -]{1,4096}$/.test(value) ? value : null;
}
