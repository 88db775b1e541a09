import { Global, Module } from '@nestjs/common';
import { Lists } from './lists';

/** Makes `Lists` injectable everywhere. */
@Global()
@Module({ providers: [Lists], exports: [Lists] })
export class ListsModule {}
