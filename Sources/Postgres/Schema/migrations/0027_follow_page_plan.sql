-- compatible-from: 9
-- Where statistics say that people have few followers, sorting all of a person's followers seemed as cheap as reading
-- the newest ones in the order of the index: of a famous one it read all. An incremental sort stays possible.
ALTER FUNCTION follow_page(text, text, boolean, text, int) SET enable_sort = off;
