import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { MAX_MESSAGE_BYTES, lostAnswer, messagesIn, parseMessage, sizeText } from './messages.js';

/** Maximum number of bytes of an oversized line before its connection ends. */
const MAX_SKIPPED = 16 * MAX_MESSAGE_BYTES;
/** Bytes at each end of an oversized line in which the id of an answer is looked for. */
const EDGE = 4_096;
const NEWLINE = 0x0a;

/** Reads the messages of a server over pipes, one per line. Other lines are ignored, and an oversized answer becomes an error. */
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
    return size <= MAX_MESSAGE_BYTES ? messagesIn(parseMessage(text)) : [lostAnswer(idAtEdge(text), sizeText(size))];
  }
}

/** Finds the id of an answer of which only the ends are known: it is before or after its result. */
function idAtEdge(text: string): number {
  const [, first] = /^\s*\{[^{}[\]]*"id"\s*:\s*(\d+)/.exec(text) ?? [];
  const [, last] = /"id"\s*:\s*(\d+)[^{}[\]]*\}\s*$/.exec(text) ?? [];
  const id = first ?? last;
  if (id === undefined) throw new Error('A message is too large, and has no id at its ends.');
  return Number(id);
}
