import { AuditEntryResponse } from '../audit/dto/audit-entry.response';
import { jsonParts } from '../http/answers/json-parts';
import type { AnsweredListedEntry } from '../ledger/reading/entry-reader';
import { type EventFilter, matchesFilter } from './event-filter';

/**
 * Consecutive entries as events: each is rendered once, and those of one filter are joined once for all its readers.
 */
export class EventChunk {
  private readonly texts = new Map<AnsweredListedEntry, string>();
  private readonly byFilter = new Map<string, Buffer>();

  constructor(readonly entries: readonly AnsweredListedEntry[]) {}

  /** Sequence of its last entry; 0 if it is empty. */
  get last(): number {
    return this.entries.at(-1)?.sequence ?? 0;
  }

  /** The entries after a sequence that match the filter. */
  bytes(filter: EventFilter, after: number): Buffer {
    if (after >= (this.entries[0]?.sequence ?? 0)) return this.rendered(filter, after);
    const name = JSON.stringify(filter);
    const bytes = this.byFilter.get(name) ?? this.rendered(filter, after);
    this.byFilter.set(name, bytes);
    return bytes;
  }

  private rendered(filter: EventFilter, after: number): Buffer {
    const chosen = this.entries.filter((entry) => entry.sequence > after && matchesFilter(filter, entry));
    return Buffer.from(chosen.map((entry) => this.text(entry)).join(''));
  }

  private text(entry: AnsweredListedEntry): string {
    const text = this.texts.get(entry) ?? textOf(entry);
    this.texts.set(entry, text);
    return text;
  }
}

function textOf(entry: AnsweredListedEntry): string {
  const data = [...jsonParts(AuditEntryResponse.from(entry))].join('');
  return `id: ${entry.sequence}\nevent: ${entry.action}\ndata: ${data}\n\n`;
}
