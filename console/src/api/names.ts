import { Permits } from './permits.js';

interface NamedRecord {
  readonly id: string;
  readonly name: string;
}

/** The source of names. */
export interface NameSource {
  /** The newest records: one request that covers most names. */
  first(): Promise<{ readonly data: readonly NamedRecord[] }>;
  byId(id: string): Promise<NamedRecord>;
}

/**
 * This many records are looked up one by one, then one per interval; further ones are shown by their ids until then.
 */
const MAX_LOOKUPS = 20;
const LOOKUP_INTERVAL_MS = 10_000;
/** Maximum number of names that are kept: a page that is open for days sees many more. */
const MAX_NAMES = 5_000;
/** Milliseconds between two requests for the newest records. */
const RENEWAL_INTERVAL_MS = 60_000;

/** The names of records by their ids, looked up once and again when they may have changed. */
export class Names {
  private readonly names = new Map<string, string>();
  /** Ids whose name was requested, or need not be. */
  private readonly requestedIds = new Set<string>();
  /** Ids whose known name may have changed. */
  private readonly outdatedIds = new Set<string>();
  private readonly listeners = new Set<() => void>();
  private readonly permits = new Permits(MAX_LOOKUPS, LOOKUP_INTERVAL_MS);
  private readonly renewals = new Permits(1, RENEWAL_INTERVAL_MS);
  private first: Promise<void> | null = null;

  constructor(
    private readonly source: NameSource,
    private readonly mayLookUp: boolean,
  ) {}

  /** The name; undefined while it is not known. */
  get(id: string): string | undefined {
    if (this.mayLookUp && !this.requestedIds.has(id)) {
      this.requestedIds.add(id);
      void this.lookUp(id);
    }
    return this.names.get(id);
  }

  learn(records: readonly NamedRecord[]): void {
    for (const { id, name } of records) {
      this.names.set(id, name);
      this.requestedIds.add(id);
      this.outdatedIds.delete(id);
    }
    for (const id of [...this.names.keys()].slice(0, -MAX_NAMES)) {
      this.names.delete(id);
      this.requestedIds.delete(id);
    }
    this.notify();
  }

  /** A record has changed: it is looked up again where its name is shown. */
  renew(id: string): void {
    if (!this.names.has(id)) return;
    this.outdatedIds.add(id);
    this.requestedIds.delete(id);
    this.notify();
  }

  /** Any records may have changed: the newest are looked up again. */
  renewFirst(): void {
    if (this.first !== null && this.renewals.take()) void this.loadFirst();
  }

  /** Every agent whose name is known, sorted by name; at least the newest agents, once they are loaded. */
  all(): readonly NamedRecord[] {
    if (this.mayLookUp) this.first ??= this.loadFirst();
    return [...this.names]
      .map(([id, name]) => ({ id, name }))
      .sort((left, right) => left.name.localeCompare(right.name));
  }

  follow(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private notify(): void {
    for (const listener of this.listeners) listener();
  }

  private async lookUp(id: string): Promise<void> {
    this.first ??= this.loadFirst();
    await this.first;
    if (this.names.has(id) && !this.outdatedIds.has(id)) return;
    if (!this.permits.take()) {
      // It is looked up when it is shown again.
      this.requestedIds.delete(id);
      return;
    }
    try {
      this.learn([await this.source.byId(id)]);
    } catch {
      // Its id is shown instead.
    }
  }

  private async loadFirst(): Promise<void> {
    try {
      this.learn((await this.source.first()).data);
    } catch {
      // The names are looked up individually.
    }
  }
}

/** The beginning and the end of an id: enough to distinguish two. */
export function shortId(id: string): string {
  return id.length <= 14 ? id : `${id.slice(0, 6)}…${id.slice(-4)}`;
}
