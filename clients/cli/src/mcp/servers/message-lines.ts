import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { LARGEST_MESSAGE, lostAnswer, messagesIn, parsed, sizeText } from './messages.js';

/** Bytes of a line that is skipped for its size before its connection ends. */
const MAX_SKIPPED = 16 * LARGEST_MESSAGE;
/** Bytes at each end of such a line, in which the id of an answer is looked for. */
const EDGE = 4_096;
const NEWLINE = 0x0a;

/** The messages of a server over pipes, a line each. What is none is passed over, and an answer that is too large is an error. */
export class MessageLines {
  private parts: Buffer[] = [];
  private size = 0;

  /**
   * Returns the messages that end in a chunk.
   * @throws Error if the connection has to end, as it is not known whose answer is too large.
   */
  read(chunk: Buffer): JSONRPCMessage[] {
    const messages: JSONRPCMessage[] = [];
    for (let rest = chunk; rest.length > 0;) {
      const end = rest.indexOf(NEWLINE) + 1;
      const part = end === 0 ? rest : rest.subarray(0, end);
      rest = rest.subarray(part.length);
      this.size += part.length;
      this.parts.push(part);
      if (this.size > LARGEST_MESSAGE) this.keepEdges();
      if (end > 0) messages.push(...this.endLine());
    }
    return messages;
  }

  private keepEdges(): void {
    if (this.size > MAX_SKIPPED) throw new Error(`A line has more than ${MAX_SKIPPED} bytes.`);
    const whole = Buffer.concat(this.parts);
    // Copies, as a part would hold all of it.
    this.parts = [Buffer.from(whole.subarray(0, EDGE)), Buffer.from(whole.subarray(-EDGE))];
  }

  private endLine(): JSONRPCMessage[] {
    const [text, size] = [Buffer.concat(this.parts).toString('utf8'), this.size];
    this.parts = [];
    this.size = 0;
    return size <= LARGEST_MESSAGE ? messagesIn(parsed(text)) : [lostAnswer(idAtEdge(text), sizeText(size))];
  }
}

/** Of an answer of which only the ends are known: its id is before or after its result. */
function idAtEdge(text: string): number {
  const [, first] = /^\s*\{[^{}[\]]*"id"\s*:\s*(\d+)/.exec(text) ?? [];
  const [, last] = /"id"\s*:\s*(\d+)[^{}[\]]*\}\s*$/.exec(text) ?? [];
  const id = first ?? last;
  if (id === undefined) throw new Error('A message is too large, and has no id at its ends.');
  return Number(id);
}
