import { useEffect, useReducer } from 'preact/hooks';
import { revealed } from '../ui/format.js';
import { useSession } from './session.js';

interface Named {
  readonly id: string;
  readonly name: string;
}

/** Where names come from. */
export interface NameSource {
  /** The newest records: one request that answers for most. */
  first(): Promise<{ readonly data: readonly Named[] }>;
  one(id: string): Promise<Named>;
}

/** So many records are asked for one by one; the ids of further ones stay as they are. */
const MOST_ASKED = 20;

/** Records' names by their ids, each asked for once. */
export class Names {
  private readonly known = new Map<string, string>();
  private readonly asked = new Set<string>();
  private readonly listeners = new Set<() => void>();
  private first: Promise<void> | null = null;
  private askedAlone = 0;

  constructor(
    private readonly source: NameSource,
    private readonly mayAsk: boolean,
  ) {}

  /** The name; undefined while it is not known. */
  of(id: string): string | undefined {
    const name = this.known.get(id);
    if (name === undefined && this.mayAsk && !this.asked.has(id)) {
      this.asked.add(id);
      void this.ask(id);
    }
    return name;
  }

  learn(records: readonly Named[]): void {
    for (const { id, name } of records) this.known.set(id, name);
    for (const listener of this.listeners) listener();
  }

  /** Everybody whose name is known, by name; the newest agents at least, once they are there. */
  all(): readonly Named[] {
    if (this.mayAsk) this.first ??= this.askFirst();
    return [...this.known].map(([id, name]) => ({ id, name })).sort((one, other) => one.name.localeCompare(other.name));
  }

  follow(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private async ask(id: string): Promise<void> {
    this.first ??= this.askFirst();
    await this.first;
    if (this.known.has(id) || this.askedAlone >= MOST_ASKED) return;
    this.askedAlone += 1;
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
      // Each is asked for by itself.
    }
  }
}

/** An agent's name, or its id until that is known. */
export function useNames(): (id: string) => string {
  const { names } = useSession();
  useChanges(names);
  return (id) => revealed(names.of(id) ?? shortId(id));
}

const ENTITY_ID = /\b(?:[^\s/]+\/)*(ent_[0-9A-HJKMNP-TV-Z]{26})\b/g;

/** Puts the names of entities where a text has their ids, with the path that leads to them. */
export function useEntityNames(): (text: string) => string {
  const { entityNames } = useSession();
  useChanges(entityNames);
  return (text) => revealed(text.replace(ENTITY_ID, (found: string, id: string) => entityNames.of(id) ?? found));
}

function useChanges(names: Names): void {
  const [, refresh] = useReducer((count: number, step: number) => count + step, 0);
  useEffect(() => names.follow(() => refresh(1)), [names]);
}

/** The beginning and the end of an id: enough to tell two apart. */
export function shortId(id: string): string {
  return id.length <= 14 ? id : `${id.slice(0, 6)}…${id.slice(-4)}`;
}
