import { Transform, type TransformCallback, type Readable, type Writable } from 'node:stream';
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
} from '@modelcontextprotocol/server';
import { doubtfulNumberIn } from '../unsafe-number.js';
import type { OpenRequests } from './open-requests.js';
import { AnswerMeter, DEFAULT_BOUNDS } from './servers/answer-meter.js';
import { MAX_MESSAGE_BYTES, messagesIn, parseMessage } from './servers/messages.js';

const [OPENING, NEWLINE] = [0x5b, 0x0a];
const SPACES: ReadonlySet<number> = new Set([0x09, 0x0d, 0x20]);
/** Maximum number of bytes of a batch that are searched for the ids of its requests. */
const MAX_BYTES = 10_000_000;
const INVALID_REQUEST = -32_600;
const NO_MESSAGE = 'Expected a message of JSON-RPC 2.0 on a line of its own.';
/** Bytes of answers that a client may leave unread before no more of its lines are read. */
const MAX_UNREAD_BYTES = 2 ** 20;
const TEXT =
  'Batches are not part of this protocol: no message of this batch was carried out. Send each message on a line of its own.';

/**
 * Removes from the lines of a client what the SDK would not answer, and answers it with errors: each request in a
 * batch, and a request whose id another one uses. The stream fails at a message that is too large, because its id is
 * not known. While a client leaves its answers unread, no more of its lines are read.
 * @param open requests that are being served; whoever sends an answer removes its request
 */
export function withoutBatches(input: Readable, output: Writable, open: OpenRequests): Readable {
  return input.pipe(new WithoutBatches(output, open));
}

class WithoutBatches extends Transform {
  private isAtStart = true;
  private isBatch = false;
  /**
   * The chunks of the current line. The SDK gets the whole line, as it copies everything for each chunk that it
   * appends.
   */
  private line: Buffer[] = [];
  /** Bytes of the line so far. */
  private size = 0;

  constructor(
    private readonly output: Writable,
    private readonly open: OpenRequests,
  ) {
    super();
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    for (let remainingBytes = chunk; remainingBytes.length > 0;) {
      const end = remainingBytes.indexOf(NEWLINE) + 1;
      const part = end === 0 ? remainingBytes : remainingBytes.subarray(0, end);
      remainingBytes = remainingBytes.subarray(part.length);
      this.size += part.length;
      if (!this.isBatch && this.size > MAX_MESSAGE_BYTES) {
        done(new Error(`a message has ${MAX_MESSAGE_BYTES} bytes at most.`));
        return;
      }
      this.sort(part, end > 0);
    }
    if (this.output.writableLength > MAX_UNREAD_BYTES) this.output.once('drain', () => done());
    else done();
  }

  private sort(part: Buffer, isEnd: boolean): void {
    const first = this.isAtStart ? part.find((byte) => !SPACES.has(byte)) : undefined;
    if (first !== undefined) {
      this.isAtStart = false;
      this.isBatch = first === OPENING;
    }
    if (!this.isBatch || this.size < MAX_BYTES) this.line.push(part);
    if (!isEnd) return;
    if (this.isBatch) for (const id of idsIn(this.line)) this.refuse(id, TEXT);
    else this.pass(Buffer.concat(this.line));
    this.line = [];
    this.isBatch = false;
    this.size = 0;
    this.isAtStart = true;
  }

  /**
   * Passes a line on as the SDK reads it, without null members. Invalid messages are answered, as the SDK ignores them.
   */
  private pass(line: Buffer): void {
    const text = line.toString('utf8');
    if (text.trim() === '') return;
    const value = parseMessage(text);
    const fault = new AnswerMeter(DEFAULT_BOUNDS).add(text);
    if (fault !== null) {
      this.refuse(idIn(value), `The message ${fault}.`);
      return;
    }
    const isMessage = isJSONRPCRequest(value) || isJSONRPCNotification(value) || isJSONRPCResponse(value);
    // A number that a double cannot hold has to reach the check of the arguments as it was written.
    const isFixed = !text.includes('null') || doubtfulNumberIn(value, 'message') !== undefined;
    const [readable] = messagesIn(value);
    // A message that is nested too deep is refused by the code that serves it.
    const message = readable ?? (isMessage && isFixed ? value : undefined);
    if (message === undefined || (!isMessage && isFixed)) {
      this.refuse(idIn(value), NO_MESSAGE);
      return;
    }
    const refusal = this.begin(message, line.length);
    if (refusal !== null) this.refuse(idIn(value), refusal);
    else this.push(isMessage && isFixed ? line : `${JSON.stringify(message)}\n`);
  }

  /** Notes a request, and ends a cancelled one. Returns why a request is refused; null if it is not. */
  private begin(message: JSONRPCMessage, bytes: number): string | null {
    if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled')
      this.open.end(message.params?.['requestId']);
    return isJSONRPCRequest(message) ? this.open.begin(message.id, bytes) : null;
  }

  private refuse(id: unknown, text: string): void {
    this.output.write(`${refusalOf(id, text)}\n`);
  }
}

function idIn(value: unknown): unknown {
  const { id = null } = Object(value) as { id?: unknown };
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

/** Returns the ids of the requests in a batch; null, as in JSON-RPC, if there are none. */
function idsIn(line: readonly Buffer[]): unknown[] {
  try {
    const batch = JSON.parse(Buffer.concat(line).toString('utf8')) as readonly ({
      id?: unknown;
      method?: unknown;
    } | null)[];
    const ids = batch.flatMap((message) =>
      message?.id !== undefined && message.method !== undefined ? [message.id] : [],
    );
    return ids.length > 0 ? ids : [null];
  } catch {
    return [null];
  }
}

function refusalOf(id: unknown, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code: INVALID_REQUEST, message } });
}
