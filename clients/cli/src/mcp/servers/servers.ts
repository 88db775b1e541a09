import { setTimeout as sleep } from 'node:timers/promises';
import { plain, printError } from '../../output.js';
import { type ClientLink, type GovernedServer, type Kind, MAX_WARNING_LENGTH } from './governed-server.js';
import type { ListedItems } from './listed-items.js';
import type { ItemName } from '../mapping.js';
import { ResourceTemplate } from './resource-template.js';

/** Maximum time in milliseconds that a server without an answer delays the others. */
const MAX_LIST_MS = 10_000;
const SEPARATOR = '__';
/** Maximum number of templates of a server that a URI is matched against. */
const MAX_TEMPLATES = 1_000;

/** Something that a server lists. */
export interface ListedItem<Item> extends ItemName {
  readonly owner: GovernedServer;
  readonly item: Item;
}

interface Resources {
  readonly uris: ReadonlySet<string>;
  readonly templates: readonly ResourceTemplate[];
}

/** The governed servers behind one session. */
export class Servers {
  /** The latest resource lists, by server, until one of them says that its list has changed. */
  private readonly resources = new Map<string, Resources>();
  /** True once the session has ended. */
  isClosed = false;

  constructor(readonly all: readonly GovernedServer[]) {
    if (this.only === null)
      for (const server of all)
        server.onEnd = () => printError(`The MCP server ${server.name} ended. It is started again when it is needed.`);
  }

  /** The only server; null if there are several. */
  get only(): GovernedServer | null {
    const [first, ...furtherServers] = this.all;
    return first !== undefined && furtherServers.length === 0 ? first : null;
  }

  /** Tells the client that lists may have changed. */
  listsChanged(): void {
    for (const kind of ['tools', 'prompts', 'resources'] as const) this.all[0]?.link?.onListChange(kind);
  }

  linkTo(link: ClientLink): void {
    const onListChange = (kind: Kind): void => {
      if (kind === 'resources') this.resources.clear();
      link.onListChange(kind);
    };
    for (const server of this.all) server.link = { ...link, onListChange };
  }

  shownName(server: GovernedServer, name: string): string {
    return this.only === null ? `${server.name}${SEPARATOR}${name}` : name;
  }

  /** Finds the tool or prompt that a client calls by this name; null if no server can have it. */
  find(visibleName: string): Omit<ListedItem<null>, 'item'> | null {
    if (this.only !== null) return { owner: this.only, server: this.only.name, name: visibleName, visibleName };
    const index = visibleName.indexOf(SEPARATOR);
    const owner = this.all.find(({ name }) => index > 0 && name === visibleName.slice(0, index));
    return owner === undefined
      ? null
      : { owner, server: owner.name, name: visibleName.slice(index + SEPARATOR.length), visibleName };
  }

  /**
   * Lists the items in the order of the servers. Servers without an answer are left out.
   * @throws the error of an only server.
   */
  async list<List extends keyof ListedItems>(list: List): Promise<ListedItem<ListedItems[List]>[]> {
    const items = await this.each(list, async (owner) =>
      (await owner.list(list)).map((item) => ({
        owner,
        server: owner.name,
        name: item.name,
        visibleName: this.shownName(owner, item.name),
        item,
      })),
    );
    return items.flat();
  }

  /**
   * Loads something from each server.
   * @param label for example `tools`, for the message about a server without an answer.
   */
  async each<Result>(label: string, ask: (server: GovernedServer) => Promise<Result>): Promise<Result[]> {
    if (this.only !== null) return [await ask(this.only)];
    const answers = this.all.map(async (server) => {
      try {
        return [await withinTime(ask(server))];
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        const warning = `The MCP server ${server.name} is left out (${label}): ${message}`;
        printError(plain(warning.slice(0, MAX_WARNING_LENGTH)));
        return [];
      }
    });
    return (await Promise.all(answers)).flat();
  }

  /** Finds the first server that lists the resource; null if none does. */
  async withResource(uri: string): Promise<GovernedServer | null> {
    const listing = this.findListing(uri);
    if (listing !== undefined) return listing;
    await this.each('resources', async (server) => {
      const [resources, templates] = [await server.list('resources'), await server.list('resourceTemplates')];
      const uris = new Set(resources.map((resource) => resource.uri));
      this.resources.set(server.name, {
        uris,
        templates: templates.slice(0, MAX_TEMPLATES).flatMap(({ uriTemplate }) => ResourceTemplate.parse(uriTemplate)),
      });
    });
    return this.findListing(uri) ?? null;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all(this.all.map((server) => server.close()));
  }

  /** Finds the server of a URI in the latest lists: a listed resource comes before a matching template. */
  private findListing(uri: string): GovernedServer | undefined {
    const findBy = (has: (resources: Resources) => boolean): GovernedServer | undefined =>
      this.all.find(({ name }) => {
        const resources = this.resources.get(name);
        return resources !== undefined && has(resources);
      });
    return (
      findBy(({ uris }) => uris.has(uri)) ??
      findBy(({ templates }) => templates.some((template) => template.matches(uri)))
    );
  }
}

async function withinTime<Result>(answer: Promise<Result>): Promise<Result> {
  const controller = new AbortController();
  const late = sleep(MAX_LIST_MS, undefined, { signal: controller.signal, ref: false }).then(() => {
    throw new Error(`no answer in ${MAX_LIST_MS / 1_000} seconds.`);
  });
  late.catch(() => undefined);
  return Promise.race([answer, late]).finally(() => controller.abort());
}
