import { messagesIn, parseMessage } from './messages.js';

/** JSON that the SDK passes over. */
export const NO_MESSAGE = '{}';
/** The fields of an event besides its data; no other has a meaning. */
const FIELDS: ReadonlySet<string> = new Set(['event', 'id', 'retry']);

/**
 * Reads a stream of events line by line, and writes each event as the SDK reads it: the messages in its data as one
 * line each. The data of one event may be on several lines, so none is judged alone.
 */
export class EventLines {
  private readonly fields = new Map<string, string>();
  private data: string | null = null;

  /** @param onAnswer called with the id of each answer */
  constructor(private readonly onAnswer: (id: unknown) => void) {}

  /** Returns the event that ends with this line, which has no line end; empty if none does. */
  read(line: string): string {
    if (line === '') return this.endEvent();
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
    if (name === 'data') this.data = this.data === null ? value : `${this.data}\n${value}`;
    else if (FIELDS.has(name)) this.fields.set(name, value);
    return '';
  }

  private endEvent(): string {
    const { data } = this;
    const fields = [...this.fields].map(([name, value]) => `${name}: ${value}\n`).join('');
    this.data = null;
    this.fields.clear();
    if (data === null) return fields === '' ? '' : `${fields}\n`;
    return this.messageLines(data)
      .map((line) => `${fields}data: ${line}\n\n`)
      .join('');
  }

  private messageLines(data: string): string[] {
    const value = parseMessage(data);
    const messages = messagesIn(value);
    for (const message of messages) if (!('method' in message)) this.onAnswer(message.id);
    if (messages.length > 0) return messages.map((message) => JSON.stringify(message));
    return [data.includes('\n') || value !== null ? NO_MESSAGE : data];
  }
}
