const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789';

/** A secret nobody guesses: 24 letters and digits (more than 128 bits), without those that look alike. */
export function generateSecret(): string {
  const secret: string[] = [];
  while (secret.length < 24) {
    for (const byte of crypto.getRandomValues(new Uint8Array(32))) {
      // Beyond the last whole turn some letters would come more often.
      if (byte < 256 - (256 % LETTERS.length) && secret.length < 24) secret.push(LETTERS.charAt(byte % LETTERS.length));
    }
  }
  return secret.join('');
}
