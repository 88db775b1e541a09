import { useState } from 'preact/hooks';
import { requiredContext } from '../api/required-context.js';
import type { Me } from '../api/types.js';
import { confirmBeforeLeaving } from './leaving.js';

const CARRIED = 'governance-console-drafts';

interface CarriedDrafts {
  readonly owner: string | null;
  readonly texts: readonly (readonly [string, string])[];
}

const NOTHING = '{"owner":null,"texts":[]}';

/**
 * The texts that a person has typed and not sent, by the place where they were typed. They are kept above the session,
 * which may end while the person types, until the same person signs in again. A text is dropped when it is sent, its
 * owner signs out, or somebody else signs in. The tab stores the texts only while their owner signs in at an issuer,
 * since that leaves the page.
 */
export class Drafts {
  private readonly texts: Map<string, string>;
  private owner: string | null;
  private stopConfirming: (() => void) | null = null;

  constructor() {
    const { owner, texts } = JSON.parse(storedDrafts() ?? NOTHING) as CarriedDrafts;
    this.texts = new Map(texts);
    this.owner = owner;
    this.noteRisk();
  }

  get areAny(): boolean {
    return this.texts.size > 0;
  }

  get(place: string): string | null {
    return this.texts.get(place) ?? null;
  }

  /** Keeps a text for a place; null drops it. */
  keep(place: string, text: string | null): void {
    if (text === null) this.texts.delete(place);
    else this.texts.set(place, text);
    this.noteRisk();
  }

  /** Drops the texts of another person, so that nobody finds what somebody else has typed. */
  openFor({ agentId, actor }: Me): void {
    const owner = agentId ?? `${actor.type} ${actor.id}`;
    if (owner !== this.owner) this.texts.clear();
    this.owner = owner;
    forgetStored();
    this.noteRisk();
  }

  /** Stores the texts before the page is left for an issuer, from which their owner comes back to a new page. */
  carry(): void {
    if (!this.areAny) return;
    sessionStorage.setItem(
      CARRIED,
      JSON.stringify({ owner: this.owner, texts: [...this.texts] } satisfies CarriedDrafts),
    );
    this.stopConfirming?.();
    this.stopConfirming = null;
  }

  forget(): void {
    this.texts.clear();
    forgetStored();
    this.noteRisk();
  }

  private noteRisk(): void {
    if (this.areAny) {
      this.stopConfirming ??= confirmBeforeLeaving();
    } else {
      this.stopConfirming?.();
      this.stopConfirming = null;
    }
  }
}

export const [DraftsProvider, useDrafts] = requiredContext<Drafts>('No drafts are kept here.');

/** Keeps the text of a field beyond the field's life. Returns the text, its setter, and a function that drops it. */
export function useDraft(place: string, initial: string): readonly [string, (now: string) => void, () => void] {
  const drafts = useDrafts();
  const [text, setText] = useState(() => drafts.get(place) ?? initial);
  const edit = (now: string): void => {
    setText(now);
    drafts.keep(place, now === initial ? null : now);
  };
  return [text, edit, () => drafts.keep(place, null)];
}

/** Returns the texts, as JSON, that this tab has kept while the person signed in at an issuer. */
function storedDrafts(): string | null {
  try {
    return sessionStorage.getItem(CARRIED);
  } catch {
    // A browser that stores nothing throws.
    return null;
  }
}

function forgetStored(): void {
  if (storedDrafts() !== null) sessionStorage.removeItem(CARRIED);
}
