import { Permits } from './permits.js';

interface Named {
  readonly id: string;
  readonly name: string;
}

/** The source of names. */
export interface NameSource {
  /** The newest records: one request that covers most names. */
  first(): Promise<{ readonly data: readonly Named[] }>;
  one(id: string): Promise<Named>;
}

/** This many records are looked up one by one, then one per interval; further ones are shown by their ids until then. */
const MOST_ASKED = 20;
const ASK_EVERY = 10_000;
/** Names that are kept: a page that is open for days sees many more. */
const MOST_KEPT = 5_000;
/** Milliseconds between two requests for the newest records. */
const RENEW_EVERY = 60_000;

/** The names of records by their ids, looked up once and again when they may have changed. */
export class Names {
  private readonly known = new Map<string, string>();
  /** Ids whose name was requested, or need not be. */
  private readonly asked = new Set<string>();
  /** Ids whose known name may have changed. */
  private readonly outdated = new Set<string>();
  private readonly listeners = new Set<() => void>();
  private readonly permits = new Permits(MOST_ASKED, ASK_EVERY);
  private readonly renewals = new Permits(1, RENEW_EVERY);
  private first: Promise<void> | null = null;

  constructor(
    private readonly source: NameSource,
    private readonly mayAsk: boolean,
  ) {}

  /** The name; undefined while it is not known. */
  of(id: string): string | undefined {
    if (this.mayAsk && !this.asked.has(id)) {
      this.asked.add(id);
      void this.ask(id);
    }
    return this.known.get(id);
  }

  learn(records: readonly Named[]): void {
    for (const { id, name } of records) {
      this.known.set(id, name);
      this.asked.add(id);
      this.outdated.delete(id);
    }
    for (const id of [...this.known.keys()].slice(0, -MOST_KEPT)) {
      this.known.delete(id);
      this.asked.delete(id);
    }
    this.notify();
  }

  /** A record has changed: it is looked up again where its name is shown. */
  renew(id: string): void {
    if (!this.known.has(id)) return;
    this.outdated.add(id);
    this.asked.delete(id);
    this.notify();
  }

  /** Any records may have changed: the newest are looked up again. */
  renewFirst(): void {
    if (this.first !== null && this.renewals.take()) void this.askFirst();
  }

  /** Every agent whose name is known, sorted by name; at least the newest agents, once they are loaded. */
  all(): readonly Named[] {
    if (this.mayAsk) this.first ??= this.askFirst();
    return [...this.known].map(([id, name]) => ({ id, name })).sort((one, other) => one.name.localeCompare(other.name));
  }

  follow(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private notify(): void {
    for (const listener of this.listeners) listener();
  }

  private async ask(id: string): Promise<void> {
    this.first ??= this.askFirst();
    await this.first;
    if (this.known.has(id) && !this.outdated.has(id)) return;
    if (!this.permits.take()) {
      // It is looked up when it is shown again.
      this.asked.delete(id);
      return;
    }
    try {
      this.learn([await this.source.one(id)]);
    } catch {
      // Its id is shown instead.
    }
  }

  private async askFirst(): Promise<void> {
    try {
      this.learn((await this.source.first()).data);
    } catch {
      // They are looked up individually.
    }
  }
}

/** The beginning and the end of an id: enough to distinguish two. */
export function shortId(id: string): string {
  return id.length <= 14 ? id : `${id.slice(0, 6)}…${id.slice(-4)}`;
}
