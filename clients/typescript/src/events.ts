import type { AuditEntry } from './api-types.js';
import { unexpectedAnswer } from './governance-error.js';
import { sleep } from './sleep.js';
import { type Transport } from './transport.js';

export interface EventsRequest {
  /** The stream begins after this sequence. Default: the head of the ledger. */
  readonly after?: number;
  /** Exact names of actions, or `<family>.*`. */
  readonly actions?: readonly string[];
  readonly agentId?: string;
  readonly entityId?: string;
  readonly subjectId?: string;
  readonly signal?: AbortSignal;
}

/** Milliseconds before a stream that ended is opened again. */
const PAUSE = 500;
/** Milliseconds without a byte after which a stream is broken: the service sends a comment every 15 seconds. */
const MAX_SILENCE_MS = 60_000;

/** One event of a stream as in the HTML standard, section 9.2. */
interface StreamEvent {
  readonly id: string;
  readonly data: string;
}

/**
 * Yields the audit entries as they are written, and resumes after a lost connection.
 * @param onOpen called whenever the service has opened the stream, also after a lost connection
 */
export async function* eventsFrom(
  transport: Transport,
  { after, actions = [], agentId, entityId, subjectId, signal }: EventsRequest,
  onOpen: () => void = () => undefined,
): AsyncGenerator<AuditEntry, void, undefined> {
  const filters = new URLSearchParams(actions.map((action): [string, string] => ['action', action]));
  for (const [name, value] of Object.entries({ agentId, entityId, subjectId })) {
    if (value !== undefined) filters.set(name, value);
  }
  let last = after === undefined ? null : String(after);
  for (;;) {
    const headers = { Accept: 'text/event-stream', ...(last !== null && { 'Last-Event-ID': last }) };
    const path = `/api/v1/events?${filters.toString()}`;
    const response = await transport.send({ method: 'get', path, headers, signal }, streamIn);
    // With this sequence, nothing is missed if the connection breaks before the first event.
    last ??= response.headers.get('X-Head-Sequence');
    onOpen();
    for await (const { id, data } of streamEvents(response, signal)) {
      last = id;
      yield entryIn(data);
    }
    await sleep(PAUSE, signal);
  }
}

/**
 * Requires a stream of events. @throws GovernanceError for a page of a proxy, which would otherwise look like a stream
 * without events
 */
async function streamIn(response: Response): Promise<Response> {
  const type = response.headers.get('Content-Type') ?? '';
  if (/^text\/event-stream\b/i.test(type)) return response;
  await response.body?.cancel();
  throw unexpectedAnswer(type, response.status);
}

function entryIn(data: string): AuditEntry {
  try {
    return JSON.parse(data) as AuditEntry;
  } catch {
    throw unexpectedAnswer(data, null);
  }
}

/** The events of one connection. A connection that breaks ends them; the caller resumes after the last one. */
async function* streamEvents(
  { body }: Response,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamEvent, void, undefined> {
  if (body === null) throw unexpectedAnswer('the stream of events has no body.', null);
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const end = (): void => void reader.cancel().catch(() => undefined);
  signal?.addEventListener('abort', end, { once: true });
  let incompleteText = '';
  try {
    for (;;) {
      signal?.throwIfAborted();
      const silence = setTimeout(end, MAX_SILENCE_MS);
      const { done, value } = await reader.read().finally(() => clearTimeout(silence));
      if (done) return;
      const blocks = (incompleteText + value).replaceAll('\r\n', '\n').split('\n\n');
      incompleteText = blocks.pop() ?? '';
      for (const block of blocks) {
        const event = parsedEvent(block);
        if (event !== null) yield event;
      }
    }
  } catch {
    // The connection broke, which ends its events. If the caller aborted it, the caller gets the reason.
    signal?.throwIfAborted();
  } finally {
    signal?.removeEventListener('abort', end);
    await reader.cancel().catch(() => undefined);
  }
}

/** Null for a comment, or an event without data. */
function parsedEvent(block: string): StreamEvent | null {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ''));
  }
  const [id, data] = [fields.get('id'), fields.get('data')];
  return id === undefined || data === undefined ? null : { id, data };
}
