import {
  type DynamicModule,
  Global,
  Logger,
  Module,
  type BeforeApplicationShutdown,
  type INestApplicationContext,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';

/**
 * The parts that a start has opened, to be closed if the start fails. Nest's own hooks only work once everything is
 * made.
 */
export class OpenedParts {
  private readonly closings: (() => unknown)[] = [];
  private isClosed = false;

  /** Opens a part. If the start fails meanwhile, `close` waits for this part. */
  async open<Part>(open: () => Promise<Part>, close: (part: Part) => unknown): Promise<Part> {
    if (this.isClosed) throw new Error('The start has failed.');
    const opening = open();
    this.add(() => opening.then(close, () => undefined));
    return opening;
  }

  /** @param close closes the part; does nothing if the part was closed before */
  add(close: () => unknown): void {
    if (this.isClosed) void attempted(close);
    else this.closings.push(close);
  }

  /** Closes the parts, the last one first. A failure does not keep the others open. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const close of this.closings.reverse()) await attempted(close);
  }
}

async function attempted(close: () => unknown): Promise<void> {
  try {
    await close();
  } catch (error) {
    new Logger('Lifecycle').error(`A part of the application could not be closed: ${String(error)}`);
  }
}

/** Provides `OpenedParts` to every module that opens something. */
@Global()
@Module({})
export class OpenedPartsModule {
  static of(parts: OpenedParts): DynamicModule {
    return {
      module: OpenedPartsModule,
      providers: [{ provide: OpenedParts, useValue: parts }],
      exports: [OpenedParts],
    };
  }
}

type Ending = Partial<OnModuleDestroy & BeforeApplicationShutdown & OnApplicationShutdown>;

const HOOKS = ['onModuleDestroy', 'beforeApplicationShutdown', 'onApplicationShutdown'] as const;

/**
 * Returns calls to all hooks that end an application, in order. Nest itself skips the remaining hooks if one throws.
 */
export function endingsOf(application: INestApplicationContext): (() => unknown)[] {
  const discovery = application.get(DiscoveryService);
  const wrappers = [...discovery.getProviders(), ...discovery.getControllers()].filter(
    (each) => each.isDependencyTreeStatic() && !each.isTransient,
  );
  const instances = [...new Set(wrappers.map(({ instance }): unknown => instance))].filter(isObject);
  return HOOKS.flatMap((hook) => instances.map((instance) => () => instance[hook]?.() as unknown));
}

/** Ends a running application. If a part fails to end, all others still do, so the last checkpoint is stored. */
export async function endApplication(application: INestApplicationContext): Promise<void> {
  await application.close().catch(async (error: unknown) => {
    new Logger('Lifecycle').error({ err: error }, 'A part of the application failed to end.');
    for (const end of endingsOf(application)) await attempted(end);
  });
}

function isObject(instance: unknown): instance is Ending {
  return typeof instance === 'object' && instance !== null;
}
