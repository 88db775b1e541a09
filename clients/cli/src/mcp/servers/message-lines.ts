import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { AnswerMeter, DEFAULT_BOUNDS } from './answer-meter.js';
import { MAX_MESSAGE_BYTES, lostAnswer, messagesIn, parseMessage } from './messages.js';

/** Maximum number of bytes of an oversized line before its connection ends. */
const MAX_SKIPPED = 16 * MAX_MESSAGE_BYTES;
/** Bytes at each end of an oversized line in which its id and its method are looked for. */
const EDGE = 4_096;
const NEWLINE = 0x0a;

/**
 * Reads the messages of a server over pipes, one per line. An oversized answer becomes an error. Other oversized
 * messages are ignored, and so are lines without a message.
 */
export class MessageLines {
  private parts: Buffer[] = [];
  private size = 0;

  /**
   * Returns the messages that end in a chunk.
   * @throws Error if the connection has to end, as it is not known whose answer is too large.
   */
  read(chunk: Buffer): JSONRPCMessage[] {
    const messages: JSONRPCMessage[] = [];
    for (let remainingBytes = chunk; remainingBytes.length > 0;) {
      const end = remainingBytes.indexOf(NEWLINE) + 1;
      const part = end === 0 ? remainingBytes : remainingBytes.subarray(0, end);
      remainingBytes = remainingBytes.subarray(part.length);
      this.size += part.length;
      this.parts.push(part);
      if (this.size > MAX_MESSAGE_BYTES) this.keepEdges();
      if (end > 0) messages.push(...this.endLine());
    }
    return messages;
  }

  private keepEdges(): void {
    if (this.size > MAX_SKIPPED) throw new Error(`A line has more than ${MAX_SKIPPED} bytes.`);
    const whole = Buffer.concat(this.parts);
    // The edges are copied, because a part of the line would keep all of it in memory.
    this.parts = [Buffer.from(whole.subarray(0, EDGE)), Buffer.from(whole.subarray(-EDGE))];
  }

  private endLine(): JSONRPCMessage[] {
    const [text, size] = [Buffer.concat(this.parts).toString('utf8'), this.size];
    this.parts = [];
    this.size = 0;
    if (size > MAX_MESSAGE_BYTES)
      return lostMessages(text, `its answer has ${size} bytes, and at most ${MAX_MESSAGE_BYTES} are read`);
    const fault = new AnswerMeter(DEFAULT_BOUNDS).add(text);
    if (fault === null) return messagesIn(parseMessage(text));
    return lostMessages(text.slice(0, EDGE) + text.slice(-EDGE), `its answer ${fault}`);
  }
}

/**
 * Returns an error in place of an answer, of which only the ends are known; nothing in place of a question.
 * @throws Error if neither an id nor a method is there: some request would wait for ever
 */
function lostMessages(edges: string, fault: string): JSONRPCMessage[] {
  if (memberAtEdge(edges, 'method', '"') !== undefined) return [];
  const id = memberAtEdge(edges, 'id', String.raw`\d+`);
  if (id === undefined) throw new Error('A message is too large, and has no id at its ends.');
  return [lostAnswer(Number(id), fault)];
}

/** Finds the beginning of a member of an object that is before or after all members with objects and lists. */
function memberAtEdge(edges: string, name: string, pattern: string): string | undefined {
  const [, first] = new RegExp(String.raw`^\s*\{[^{}[\]]*"${name}"\s*:\s*(${pattern})`).exec(edges) ?? [];
  const [, last] = new RegExp(String.raw`"${name}"\s*:\s*(${pattern})[^{}[\]]*\}\s*$`).exec(edges) ?? [];
  return first ?? last;
}
