/** Returns 32 random hexadecimal digits: a new key, or the name by which a call is done once however often it is sent. */
export function randomHex(): string {
  const words = crypto.getRandomValues(new Uint32Array(4));
  return [...words].map((word) => word.toString(16).padStart(8, '0')).join('');
}
