import { setTimeout as sleep } from 'node:timers/promises';
import { plain, printError } from '../../output.js';
import { type ClientLink, GovernedServer, type Listed } from './governed-server.js';
import type { ItemName } from '../mapping.js';
import { ResourceTemplate } from './resource-template.js';

/** Milliseconds for which the others are held up by a server that does not answer. */
const LONGEST_HOLD_UP = 10_000;
const SEPARATOR = '__';
/** Of a server, that a URI is held against. */
const MOST_TEMPLATES = 1_000;

/** Something that a server lists. */
export interface ListedItem<Item> extends ItemName {
  readonly of: GovernedServer;
  readonly item: Item;
}

interface Resources {
  readonly uris: ReadonlySet<string>;
  readonly templates: readonly ResourceTemplate[];
}

/** The governed servers behind one session. */
export class Servers {
  /** What was listed last, by server. */
  private readonly resources = new Map<string, Resources>();
  /** True once the session has ended. */
  isClosed = false;

  constructor(readonly all: readonly GovernedServer[]) {
    if (this.only === null)
      for (const server of all)
        server.onEnd = () => printError(`The MCP server ${server.name} ended. It is started again when it is needed.`);
  }

  /** The one that there is; null where there are several. */
  get only(): GovernedServer | null {
    const [first, ...others] = this.all;
    return first !== undefined && others.length === 0 ? first : null;
  }

  /** The same for another session, which has connections of its own: what servers ask and say is meant for one client. */
  another(): Servers {
    return new Servers(this.all.map(({ name, target }) => new GovernedServer(name, target)));
  }

  /** Tells the client that what is listed may have changed. */
  listsChanged(): void {
    for (const kind of ['tools', 'prompts', 'resources'] as const) this.all[0]?.link?.changed(kind);
  }

  linkTo(link: ClientLink): void {
    for (const server of this.all) server.link = link;
  }

  shown(server: GovernedServer, name: string): string {
    return this.only === null ? `${server.name}${SEPARATOR}${name}` : name;
  }

  /** The tool or prompt that a client calls by this name; null where no server can have it. */
  find(shown: string): Omit<ListedItem<null>, 'item'> | null {
    if (this.only !== null) return { of: this.only, server: this.only.name, name: shown, shown };
    const at = shown.indexOf(SEPARATOR);
    const of = this.all.find(({ name }) => at > 0 && name === shown.slice(0, at));
    return of === undefined ? null : { of, server: of.name, name: shown.slice(at + SEPARATOR.length), shown };
  }

  /** In the order of the servers. Of several those that do not answer are left out. @throws what the only one throws. */
  async list<List extends keyof Listed>(list: List): Promise<ListedItem<Listed[List]>[]> {
    const found = await this.each(list, async (of) =>
      (await of.list(list)).map((item) => ({
        of,
        server: of.name,
        name: item.name,
        shown: this.shown(of, item.name),
        item,
      })),
    );
    return found.flat();
  }

  /** What each server answers. @param what such as `tools`, for what is said of one that does not answer. */
  async each<Result>(what: string, ask: (server: GovernedServer) => Promise<Result>): Promise<Result[]> {
    if (this.only !== null) return [await ask(this.only)];
    const answers = this.all.map(async (server) => {
      try {
        return [await withinTime(ask(server))];
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        printError(plain(`The MCP server ${server.name} is left out (${what}): ${why}`));
        return [];
      }
    });
    return (await Promise.all(answers)).flat();
  }

  /** The first that has it; null where none lists it. */
  async withResource(uri: string): Promise<GovernedServer | null> {
    const known = this.knowing(uri);
    if (known !== undefined) return known;
    await this.each('resources', async (server) => {
      const [resources, templates] = [await server.list('resources'), await server.list('resourceTemplates')];
      const uris = new Set(resources.map((resource) => resource.uri));
      this.resources.set(server.name, {
        uris,
        templates: templates.slice(0, MOST_TEMPLATES).flatMap(({ uriTemplate }) => ResourceTemplate.of(uriTemplate)),
      });
    });
    return this.knowing(uri) ?? null;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all(this.all.map((server) => server.close()));
  }

  /** A resource that is listed goes before a template that would take it. */
  private knowing(uri: string): GovernedServer | undefined {
    const by = (has: (known: Resources) => boolean): GovernedServer | undefined =>
      this.all.find(({ name }) => {
        const known = this.resources.get(name);
        return known !== undefined && has(known);
      });
    return by(({ uris }) => uris.has(uri)) ?? by(({ templates }) => templates.some((one) => one.matches(uri)));
  }
}

async function withinTime<Result>(answer: Promise<Result>): Promise<Result> {
  const ending = new AbortController();
  const late = sleep(LONGEST_HOLD_UP, undefined, { signal: ending.signal, ref: false }).then(() => {
    throw new Error(`no answer in ${LONGEST_HOLD_UP / 1_000} seconds.`);
  });
  late.catch(() => undefined);
  return Promise.race([answer, late]).finally(() => ending.abort());
}
