import { Global, Module } from '@nestjs/common';
import { ListPlaces } from './list-places';
import { Lists } from './lists';

/** Makes lists injectable everywhere. */
@Global()
@Module({ providers: [Lists, ListPlaces], exports: [Lists, ListPlaces] })
export class ListsModule {}
