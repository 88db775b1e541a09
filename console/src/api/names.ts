import { useEffect, useReducer } from 'preact/hooks';
import { useSession } from './session.js';
import type { GovernanceClient } from './types.js';

/** So many agents are asked for at once; the others one by one, as they are met. */
const FIRST_PAGE = 200;

/** Agents' names by their ids, each asked for once. */
export class Names {
  private readonly known = new Map<string, string>();
  private readonly asked = new Set<string>();
  private readonly listeners = new Set<() => void>();
  private first: Promise<void> | null = null;

  constructor(
    private readonly client: GovernanceClient,
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

  learn(agents: readonly { readonly id: string; readonly name: string }[]): void {
    for (const { id, name } of agents) this.known.set(id, name);
    for (const listener of this.listeners) listener();
  }

  /** Everybody whose name is known, by name; the newest agents at least, once they are there. */
  all(): readonly { readonly id: string; readonly name: string }[] {
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
    if (this.known.has(id)) return;
    try {
      this.learn([await this.client.get('/api/v1/agents/{id}', { path: { id } })]);
    } catch {
      // Its id is shown instead.
    }
  }

  private async askFirst(): Promise<void> {
    try {
      const { data } = await this.client.get('/api/v1/agents', { query: { limit: FIRST_PAGE, order: 'desc' } });
      this.learn(data);
    } catch {
      // Each is asked for by itself.
    }
  }
}

/** An agent's name, or its id until that is known. */
export function useNames(): (id: string) => string {
  const { names } = useSession();
  const [, refresh] = useReducer((count: number, step: number) => count + step, 0);
  useEffect(() => names.follow(() => refresh(1)), [names]);
  return (id) => names.of(id) ?? shortId(id);
}

/** The beginning and the end of an id: enough to tell two apart. */
export function shortId(id: string): string {
  return id.length <= 14 ? id : `${id.slice(0, 6)}…${id.slice(-4)}`;
}
