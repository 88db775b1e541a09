import type { LookupAddress } from 'node:dns';
import { CANCELLED, CONNREFUSED, NODATA, NOTFOUND, Resolver, TIMEOUT } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { addressesListed, namesMeant } from './resolver-files';
import { SystemLookup } from './system-lookup';

const HOSTS = '/etc/hosts';
const RESOLVER = '/etc/resolv.conf';
/** Milliseconds that a look-up may take: it leaves time to deliver. */
const LONGEST = 8_000;
/** Each server is asked twice, and waited for twice as long the second time. */
const TERMS = { timeout: 1_500, tries: 2 };
/** By these a server says that a name has no addresses. */
const NONE: ReadonlySet<string> = new Set([NOTFOUND, NODATA]);
/** The system would wait as long again. */
const UNANSWERED: ReadonlySet<string> = new Set([TIMEOUT, CANCELLED]);

/**
 * Finds the addresses of endpoints as the system would: by the file of hosts, then by name servers. Not by its own
 * `lookup`, which cannot be given up: it keeps one of the few threads that also serve files and databases, and the
 * process from ending, for as long as a name server does not answer.
 */
export class NameLookup {
  private readonly system = new SystemLookup();

  /** @throws the fault of a name without addresses, or of name servers that do not answer. */
  async addressesOf(name: string, over: AbortSignal): Promise<readonly LookupAddress[]> {
    const listed = addressesListed(await textOf(HOSTS), name);
    if (listed.length > 0) return listed.map(withFamily);
    return (await this.served(name, over)) ?? this.knownToSystem(name, over);
  }

  /** By name servers; null: they say that there is no such name. A resolver for each keeps the slow from the others. */
  private async served(name: string, over: AbortSignal): Promise<readonly LookupAddress[] | null> {
    const configuration = await textOf(RESOLVER);
    over.throwIfAborted();
    const resolver = new Resolver(TERMS);
    const cancel = (): void => resolver.cancel();
    // Not a combined signal: Node 20 may collect its time limit, and keeps the resolver for as long as the other lasts.
    const limit = setTimeout(cancel, LONGEST);
    over.addEventListener('abort', cancel, { once: true });
    try {
      return await this.answersOf(resolver, namesMeant(configuration, name), over);
    } finally {
      clearTimeout(limit);
      over.removeEventListener('abort', cancel);
    }
  }

  /** After a fault, the next of the names may be another host, which must not get what is for the first. */
  private async answersOf(
    resolver: Resolver,
    names: readonly string[],
    over: AbortSignal,
  ): Promise<readonly LookupAddress[] | null> {
    for (const meant of names) {
      over.throwIfAborted();
      const answers = await Promise.all([resolver.resolve4(meant), resolver.resolve6(meant)].map(answerOf));
      const found = answers.flatMap(({ addresses }) => addresses);
      if (found.length > 0) return found.map(withFamily);
      const faults = answers.flatMap(({ fault }) => fault ?? []);
      const unanswered = faults.find(({ code }) => UNANSWERED.has(String(code)));
      if (unanswered !== undefined) throw unanswered;
      // Nobody serves names here.
      if (faults.some(({ code }) => code === CONNREFUSED)) return null;
      // The resolver asks no second server after a fault of the first. With its dot, the name means nothing else.
      if (faults.length > 0) return this.knownToSystem(`${meant.replace(/\.$/, '')}.`, over);
    }
    return null;
  }

  /** Names that the system has from elsewhere, such as the neighbours of a laptop. */
  private knownToSystem(name: string, over: AbortSignal): Promise<LookupAddress[]> {
    over.throwIfAborted();
    return this.system.addressesOf(name, over);
  }
}

function withFamily(address: string): LookupAddress {
  return { address, family: isIPv6(address) ? 6 : 4 };
}

interface Answer {
  readonly addresses: readonly string[];
  /** Null where a server said what there is, be it nothing. */
  readonly fault: NodeJS.ErrnoException | null;
}

async function answerOf(asked: Promise<string[]>): Promise<Answer> {
  try {
    return { addresses: await asked, fault: null };
  } catch (error) {
    const fault: NodeJS.ErrnoException = error instanceof Error ? error : new Error(String(error));
    return { addresses: [], fault: NONE.has(String(fault.code)) ? null : fault };
  }
}

/** Empty where there is no such file, as on other systems. */
async function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}
