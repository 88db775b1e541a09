import{l as e}from"./chunk.34EP3MG7.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
