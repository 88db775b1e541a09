import{l as e}from"./chunk.OQOOOMPC.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
