import { sampleKeyName, TOKEN } from './sample-keys.js';

/** Whole requests as the load client sends them, with the token that the gateway's file asks for. */
function requestText(method: string, path: string, extra: readonly string[] = [], body = ''): string {
  const length = body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`];
  const head = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1', `Authorization: Bearer ${TOKEN}`, ...extra, ...length];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

const API = '/panel/api';

export const bareStatus = [requestText('GET', '/status')];
export const bareUser = [requestText('GET', '/user')];
export const getStatus = [requestText('GET', `${API}/server/status`)];
export const listUsers = [requestText('GET', `${API}/users`)];
/** Of the ops listener. */
export const createUser = [requestText('POST', `${API}/users`, [], '{"name":"Bench","limit_bytes":1073741824}')];

/** The list, compressed. */
export function listUsersIn(coding: 'gzip' | 'br'): readonly string[] {
  return [requestText('GET', `${API}/users`, [`Accept-Encoding: ${coding}`])];
}

/** Reads of single users all over a file of so many keys. */
export function getUsers(keys: number): readonly string[] {
  const count = Math.min(keys, 1000);
  return Array.from({ length: count }, (_, i) =>
    requestText('GET', `${API}/users/${sampleKeyName(Math.floor((i * keys) / count))}`),
  );
}

/** Writes of the limit of single users all over so many keys. */
export function setLimits(keys: number): readonly string[] {
  const count = Math.min(keys, 1000);
  return Array.from({ length: count }, (_, i) => {
    const path = `${API}/users/${sampleKeyName(Math.floor((i * keys) / count))}/limit`;
    return requestText('PUT', path, [], `{"limit_bytes":${1_073_741_824 + i}}`);
  });
}
