import { connect, type Socket } from 'node:net';

/** One answer, its body counted and thrown away. */
export interface CountedAnswer {
  readonly status: number;
  /** Bytes of the body. */
  readonly bytes: number;
}

/** A keep-alive HTTP/1.1 connection that has at most one request under way. */
export interface HttpConnection {
  /** Sends the bytes of one request; `done` is called at the end of its answer. */
  send(request: Buffer, done: (answer: CountedAnswer) => void): void;
  close(): void;
}

/** Large enough that a list of 100,000 keys arrives in few reads; it is written over by each. */
const READ_BYTES = 1 << 18;
const HEAD_END = Buffer.from('\r\n\r\n');
const NOTHING = Buffer.alloc(0);

/**
 * Connects to a loopback port. Understands only what the servers of the bench send: a status line, headers, and a body of
 * `Content-Length` bytes. It looks at nothing twice, so that what it costs is little beside what a server costs. `failed`
 * is called once when the connection breaks or the answer is of another form.
 */
export async function openConnection(port: number, failed: (error: Error) => void): Promise<HttpConnection> {
  const answers = createAnswerReader();
  let done: ((answer: CountedAnswer) => void) | null = null;
  let closed = false;

  function received(chunk: Buffer): void {
    try {
      const answer = answers.read(chunk);
      if (answer === null) return;
      const finished = done;
      done = null;
      if (finished === null) throw new Error('an answer that nobody asked for');
      finished(answer);
    } catch (error) {
      socket.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }

  const buffer = Buffer.allocUnsafe(READ_BYTES);
  const onread = {
    buffer,
    callback: (length: number) => {
      received(buffer.subarray(0, length));
      return true;
    },
  };
  const socket = connect({ host: '127.0.0.1', port, noDelay: true, onread });
  await connected(socket);
  socket.on('error', failed);
  socket.on('close', () => {
    if (!closed) failed(new Error('the server has closed the connection'));
  });
  return {
    send(request, finished) {
      done = finished;
      socket.write(request);
    },
    close() {
      closed = true;
      socket.destroy();
    },
  };
}

async function connected(socket: Socket): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
}

/** Reads answers from chunks that end anywhere, except that the next answer never begins before it is asked for. */
export function createAnswerReader(): { read(chunk: Buffer): CountedAnswer | null } {
  let head: Buffer = NOTHING;
  let status = 0;
  let bytes = 0;
  let missing = -1;

  /** Where the body starts in the chunk, or -1 while the head is not complete. */
  function readHead(chunk: Buffer): number {
    const before = head.length;
    const seen = before === 0 ? chunk : Buffer.concat([head, chunk]);
    const end = seen.indexOf(HEAD_END);
    if (end < 0) {
      head = Buffer.from(seen);
      return -1;
    }
    const text = seen.toString('latin1', 0, end);
    const [, length] = /\r\ncontent-length: *(\d+)/i.exec(text) ?? [];
    if (length === undefined || !text.startsWith('HTTP/1.1 ')) throw new Error(`an answer of another form: ${text}`);
    head = NOTHING;
    status = Number(text.slice(9, 12));
    bytes = Number(length);
    missing = bytes;
    return end + HEAD_END.length - before;
  }

  return {
    read(chunk) {
      const start = missing < 0 ? readHead(chunk) : 0;
      if (start < 0) return null;
      missing -= chunk.length - start;
      if (missing > 0) return null;
      if (missing < 0) throw new Error('more bytes than the answer has');
      missing = -1;
      return { status, bytes };
    },
  };
}
