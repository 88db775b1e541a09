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

/** What a start has opened, to be closed if the start fails. Nest has no hooks for that before everything is made. */
export class OpenedParts {
  private readonly closings: (() => unknown)[] = [];
  private isClosed = false;

  /** Opens a part; others may fail meanwhile, and closing then waits for this one. */
  async open<Part>(open: () => Promise<Part>, close: (part: Part) => unknown): Promise<Part> {
    if (this.isClosed) throw new Error('The start has failed.');
    const opening = open();
    this.add(() => opening.then(close, () => undefined));
    return opening;
  }

  /** @param close does nothing for a part that was closed before. */
  add(close: () => unknown): void {
    if (this.isClosed) void attempted(close);
    else this.closings.push(close);
  }

  /** Closes the last one first; one that fails does not keep the others open. */
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

/** Provides them to every module that opens something. */
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

/** Calls to all hooks that end an application, in their order: where one throws, Nest itself calls none of the others. */
export function endingsOf(application: INestApplicationContext): (() => unknown)[] {
  const discovery = application.get(DiscoveryService);
  const wrappers = [...discovery.getProviders(), ...discovery.getControllers()].filter(
    (each) => each.isDependencyTreeStatic() && !each.isTransient,
  );
  const instances = [...new Set(wrappers.map(({ instance }): unknown => instance))].filter(isObject);
  return HOOKS.flatMap((hook) => instances.map((instance) => () => instance[hook]?.() as unknown));
}

/** Ends a running application. Where a part fails to end, all the others do: the last checkpoint is kept, too. */
export async function endApplication(application: INestApplicationContext): Promise<void> {
  await application.close().catch(async (error: unknown) => {
    new Logger('Lifecycle').error({ err: error }, 'A part of the application failed to end.');
    for (const end of endingsOf(application)) await attempted(end);
  });
}

function isObject(instance: unknown): instance is Ending {
  return typeof instance === 'object' && instance !== null;
}
