import{l as e}from"./chunk.PUULKR27.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
